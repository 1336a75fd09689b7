"""Words that no proper name consists of, though sentences, headings and tables capitalise them.

They are case-folded, in English, French and Vietnamese; Chinese and Japanese have no capitals.
"""

from __future__ import annotations


def _words(text: str) -> frozenset[str]:
    return frozenset(text.split())


# Words with which a sentence begins and a name does not.
FUNCTION_WORDS = {
    "en": _words("""
        a about above additionally after again against all alternatively also although always among
        an and another any are as at because been before being below between both but by can cannot
        consequently could currently depending despite did do does during each either else even
        every few finally for from furthermore generally had has have he hence her here his
        how however i if in indeed initially instead into is it its just later least less like
        likewise many may meanwhile more moreover most much must my namely neither never
        nevertheless no nor not note now of often on once one only or other otherwise our out
        over perhaps please prior rather recently see she should similarly since so some
        sometimes still subject such than that the their them then there thereafter therefore these
        they this those though three through throughout thus to too two typically under
        unless unlike until upon used using usually was we were what whatever when whenever where
        whereas whereby wherever whether which while who whom whose why will with within without
        would yes yet you your
    """),
    "fr": _words("""
        afin ailleurs ainsi alors après au aucun aucune auquel aussi autre autres aux avant avec
        avoir bien c'est car ce ceci cela celle celles celui cependant certaines certains ces cet
        cette ceux chaque chez ci comme comment contre d'autres dans de depuis des deux donc dont du
        elle elles en encore enfin ensuite entre est et eux facultatif il ils jusque l'une la
        laquelle le lequel les lesquels leur leurs lors lorsque lui mais malgré même mes moins mon
        ne ni nos notamment notre nous on or ou où par parce parfois pendant peu peut plus plusieurs
        pour pourquoi pourtant puis puisque quand que quel quelle quelles quels quelque quelques qui
        quoi sans se selon ses seul si sinon soit son sont sous souvent sur tant tous tout toute
        toutefois toutes très trois tu un une vers veuillez voici voilà vos votre vous
    """),
    "vi": _words("""
        bạn bằng bất bị bởi các cách cái cần cho chỉ chọn chúng chưa cùng cũng của dùng dưới đã đang
        đây đầu đến để đều đó được hãy hay hoặc khác khi không lại là lên lúc mà mặc mỗi một muốn
        nên nếu ngoài ngay nhấn nhập những như nhưng ở phải qua ra rằng rất rồi sau sẽ sự sử tại tất
        theo thì trên trong trừ trước từ tuy và vào vẫn về vì với
    """),
}

# Verbs with which an instruction begins.
IMPERATIVES = _words("""
    add allow check choose click configure consider copy create define delete download edit enable
    enter go install let make open press remove replace run select set specify start turn type use
    ajoutez appuyez choisissez cliquez configurer configurez créez entrez installez ouvrez saisissez
    sélectionnez supprimez utilisez
""")

# Words that make no name alone or together; beside other words they may be part of one.
GENERIC_WORDS = _words("""
    abstract addition aim aims annex anyone anything appendix article authors available background
    caution chapter clause code conclusion conclusions contents copyright default description detail
    details document documentation edition end error errors everyone everything example examples
    false figure file files function functions general guide help home important index information
    introduction item key list manual methods name names new nobody none nothing objective
    objectives ok option options overview page paragraph part prev previous reference related
    release requirements results rule rules schedule section settings something step subtraction
    summary synopsis table tables tip title topic topics true up value values version volume warning
    annexe aperçu astuce attention avertissement chapitre contenu exemple exemples historique partie
    précédent référence remarque résumé sommaire suivant tableau titre
    chương chủ đề ghi hình loại mục lục phần phụ trang tựa văn bản ví dụ công liên

    january february march april may june july august september october november december
    jan feb mar apr jun jul aug sep sept oct nov dec
    janvier février mars avril mai juin juillet août septembre octobre novembre décembre
    monday tuesday wednesday thursday friday saturday sunday mon tue wed thu fri sat sun
    lundi mardi mercredi jeudi vendredi samedi dimanche
    date day month year time zip
""")
