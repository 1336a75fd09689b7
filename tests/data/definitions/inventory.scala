package shop.stock

import scala.collection.mutable

/** A product that is kept in a warehouse. */
case class Item(sku: String, name: String, price: BigDecimal)

sealed trait Movement {
  def sku: String
  def quantity: Int
}

object Movement {
  final case class Arrival(sku: String, quantity: Int) extends Movement
  final case class Sale(sku: String, quantity: Int) extends Movement

  implicit class Signed(val movement: Movement) extends AnyVal {
    def signed: Int = movement match {
      case Arrival(_, n) => n
      case Sale(_, n) => -n
    }
  }
}

/** Counts of items, updated by movements.
  *
  * A sale of more than there is raises an error: "not { enough".
  */
class Warehouse(name: String)(implicit clock: Clock) {
  private val counts = mutable.Map.empty[String, Int]

  def this() = this("main")

  def apply(movement: Movement): Either[String, Int] = {
    val next = counts.getOrElse(movement.sku, 0) + movement.signed
    if (next < 0) Left(s"not enough of ${movement.sku} in {$name}")
    else {
      counts(movement.sku) = next
      Right(next)
    }
  }

  @deprecated("use countOf", "2.0")
  def count(sku: String): Int = countOf(sku)

  def countOf(sku: String): Int =
    counts.getOrElse(sku, 0)
}

object Warehouse {
  type Report = Map[String, Int]

  private[stock] def report(all: Seq[Warehouse]): Report =
    all.flatMap { each =>
      each.counts
    }.groupMapReduce(_._1)(_._2)(_ + _)
}
