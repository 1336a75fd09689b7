"""Words that say nothing of a chunk: function words, and words that any text can be described by.

A list for each language that prompts and contexts are tested in. Han and kana stand as pairs of
characters, as `crx.context.vocabulary` compares them.
"""

from __future__ import annotations

_ENGLISH = """
a about above according across additionally after again all allow allows along already also
although always am among amount an and another answer answers any appear appears are around
article as aspect aspects at author away back based be became because become been before begin
begins being below besides best better between beyond book both brief briefly but by called came
can cannot chapter chunk chunks clear clearly come comes concept concepts concern concerning
concerns concise contain contained containing contains content contents context contexts could
cover covers describe described describes describing description detail detailed details did
different discuss discussed discusses discussing discussion do document documentation documents
does doing done down during each either else enough ensure ensures especially etc even ever every
example examples excerpt excerpts explain explained explaining explains explanation fact facts few
file find first focus focuses following for form found from further gave general generally get
gets give given gives go goes good guide had has have having he help helps hence her here hers
highlight highlights him his how however i idea ideas identify if important in include included
includes including indeed indicate indicates inform information instead instruction instructions
into introduce introduces introduction involve involves involving is it its itself just keep kept
key kind know known last later least less let lets like likely list listed lists located location
look made main mainly make makes making many may me means mention mentioned mentions might more
most mostly much must my name named namely names near need needs neither never next no nor not
note nothing now number of off often on once one only onto or order other others our out outline
outlines over overall overview own page paragraph part particular particularly passage per perhaps
piece plain please point points present presented presents provide provided provides providing
purpose purposes put question questions quite quotation rather read reader reading really refer
reference references referring refers regarding relate related relates relevant represent
represents respectively respond response retrieval said same say says search second section
sections see seem seems seen sentence sentences set several shall she short should show shows
similar simple simply since single situate situated situates snippet so some something specific
specifically specified start state stated statement states step steps subject succinct such
summarises summarize summarized summarizes summary surrounding take taken takes talk talks tell
tells term terms text texts than that the their them themselves then there thereby therefore these
they thing things third this those though through throughout thus title titled to together too
topic topics toward towards two under understand understanding until up upon us use used useful
user uses using usually various very via was way we well were what when where whether which while
who whole whose why will with within without word words work would write writes writing written
yes yet you your
"""
_FRENCH = """
afin ainsi alors appelé après au aucun aussi autour autre autres aux avait avant avec avoir car ce
ceci cela celle celui ces cet cette ceux chapitre chaque comme comment concerne contenu contexte
contient dans davantage de depuis des document documents donc dont du décrire décrit elle elles en
encore ensemble ensuite entre est et eux exemple explique extrait faire fait général générale il
ils information informations je la le les leur leurs lors lui mais mettre moins même notamment
nous nouvelle ou où page par paragraphe parle partie pas passage pendant peu peut phrase plus
plusieurs pour présent présente qu que quel quelle question qui résumé sa sans se section ses si
soit son sont sous sujet sur texte titre tous tout toute toutes très un une utilise vers voici
voir vous y à été être
"""
_GERMAN = """
aber abschnitt alle allem allen aller alles als also am an andere anderen auch auf aus bei beim
beschreibt beschrieben bis chunk da dabei dadurch dafür damit dann daran darauf darin darüber das
dass dem den der deren des dessen die dies diese diesem diesen dieser dieses dokument dokumente
dokuments durch ein eine einem einen einer eines er erklärt erläutert es etwa falls für ganze
ganzen gegen gesamten gibt haben hat hier ihr ihre im in information informationen inhalt ins ist
jede jeder jedes kann kapitel kein keine kontext können man mehr mit muss nach nicht noch nur ob
oder ohne satz sehr sein seine seite sich sie sind sowie teil text textes thema um und uns unter
vom von vor war was weil weiter welche wenn werden wie wir wird wurde wurden zu zum zur
zusammenfassung zusammenhang zwei zwischen über
"""
_VIETNAMESE = """
bao bày bản bị bởi cho chung chương chứa cung các cách cái câu còn có cùng cũng cảnh cấp cụ của
dung dưới dụng giải giới giữa gồm hay hoặc hơn khi khác không liên liệu là lại mà mô mỗi một mới
mục người ngữ nhiều như nhưng nhất những nào này nên nêu nó nói nội phần qua quan quát ra rất rằng
sau sẽ số sự theo thiệu thuộc thêm thì thích thông thể thứ tin toàn trang trong trên trình trước
tài tóm tôi tại tả tất tập tắt tổng từ tự viết việc và vào vì văn vấn về với yêu đang đi điều đoạn
đây đã đó được đầu đến đề đều để ở
"""
_HAN_AND_KANA = """
本段 这段 一段 段落 本文 文档 文件 文章 文本 内容 部分 章节 一章 本章 一节 本节 片段 上下 下文
信息 介绍 描述 说明 解释 讨论 主要 关于 有关 其中 以及 可以 如何 什么 这个 这些 那些 一个 提供
包括 包含 总结 概述 摘要 整个 问题 位于 用于 进行 的是 了一 個文 文檔 內容 部份 介紹 說明 解釋
この その あの これ それ です ます した する して いる ある から まで より など ため こと もの
よう れて れる られ につ つい いて てい では には とし 文書 説明 概要 全体 情報 記述 述べ
"""

GENERIC_WORDS = frozenset(f"{_ENGLISH} {_FRENCH} {_GERMAN} {_VIETNAMESE} {_HAN_AND_KANA}".split())
