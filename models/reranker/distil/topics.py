"""Questions about contracts, made from a list of topics, for the teachers to score.

No answer is known: a contract may say nothing about a topic.
"""

from __future__ import annotations

import random

TOPICS = """
governing law | the courts that decide disputes | arbitration | confidentiality obligations
how long confidentiality lasts | termination for convenience | termination for material breach
termination upon insolvency or bankruptcy | the notice required to end the agreement
automatic renewal | the length of the term | the date on which it takes effect
assignment without consent | change of control | the limit of liability | indirect or lost profits
indemnification against claims of third parties | warranties | disclaimer of implied warranties
insurance coverage | force majeure | payment terms | late payment and interest | royalties
minimum purchase or sales commitments | price increases | taxes and duties
audit of books and records | exclusivity of the territory | non-competition
soliciting employees or customers | the grant of a licence | sublicensing
trademarks and how they may be used | ownership of inventions and work product
source code escrow | return of materials after termination | obligations that survive termination
amendments in writing | notices and addresses
the entire agreement | severability | independent contractors | compliance with laws
delivery and acceptance | service levels and response times | support and maintenance
personnel and key employees | expenses and reimbursement | third-party beneficiaries
rights of first refusal or offer | most favoured pricing | liquidated damages
publicity and press releases | quality control and inspection | reporting obligations
regulatory approvals | data protection | use of subcontractors | set-off and withholding
the parties and their states of incorporation | representations of authority
dispute escalation before a lawsuit | equitable relief and injunctions | waiver of rights
"""

FORMS = (
    "What does the agreement say about {topic}?",
    "Is there a provision on {topic}?",
    "{topic}",
    "Which clause covers {topic}?",
    "What are the terms on {topic}?",
    "Does the contract address {topic}, and how?",
    "What happens with regard to {topic}?",
    "rules for {topic}",
)
NAMED = (
    "{title}: {question}",
    "In the {title}, {question}",
    "{question} ({title})",
    "Regarding the {title}; {question}",
    "{question}",
)


def read_topics() -> list[str]:
    """Return the topics."""
    return [each.strip() for line in TOPICS.strip().splitlines() for each in line.split("|")]


def ask_about(topic: str, title: str, chance: random.Random) -> str:
    """Return a question about a topic of the contract with a title, which most questions name."""
    question = chance.choice(FORMS).format(topic=topic)
    return chance.choice(NAMED).format(title=title, question=question)
