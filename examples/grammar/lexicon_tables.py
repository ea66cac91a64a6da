"""The words, as text: what a dictionary would say of each, and who can do what with whom.

German verbs are written prefix-stem where the prefix separates. `lexicon.py` reads these tables.
"""

from __future__ import annotations

NOUNS = """
person
man/men             der Mann/Männer           woman/women         die Frau/Frauen
child/children      das Kind/Kinder           boy                 der Junge/Jungen weak
girl                das Mädchen/Mädchen       teacher             die Lehrerin/Lehrerinnen
pupil               der Schüler/Schüler       doctor              die Ärztin/Ärztinnen
student             der Student/Studenten weak  farmer            der Bauer/Bauern weak
baker               der Bäcker/Bäcker         judge               die Richterin/Richterinnen
guest               der Gast/Gäste            waiter              der Kellner/Kellner
singer              die Sängerin/Sängerinnen  tourist             der Tourist/Touristen weak
king                der König/Könige          queen               die Königin/Königinnen
policeman/policemen der Polizist/Polizisten weak  saleswoman/saleswomen  die Verkäuferin/Verkäuferinnen
kin
father              der Vater/Väter           mother              die Mutter/Mütter
brother             der Bruder/Brüder         sister              die Schwester/Schwestern
son                 der Sohn/Söhne            daughter            die Tochter/Töchter
uncle               der Onkel/Onkel           aunt                die Tante/Tanten
grandmother         die Großmutter/Großmütter grandfather         der Großvater/Großväter
friend              der Freund/Freunde        neighbour           der Nachbar/Nachbarn weak
colleague           die Kollegin/Kolleginnen  boss                der Chef/Chefs
animal
dog                 der Hund/Hunde            cat                 die Katze/Katzen
horse               das Pferd/Pferde          cow                 die Kuh/Kühe
bird                der Vogel/Vögel           mouse/mice          die Maus/Mäuse
hen                 das Huhn/Hühner           rabbit              das Kaninchen/Kaninchen
monkey              der Affe/Affen weak       pig                 das Schwein/Schweine
duck                die Ente/Enten            goat                die Ziege/Ziegen
food
apple               der Apfel/Äpfel           pear                die Birne/Birnen
egg                 das Ei/Eier               cake                der Kuchen/Kuchen
potato              die Kartoffel/Kartoffeln  carrot              die Karotte/Karotten
sausage             die Wurst/Würste          roll                das Brötchen/Brötchen
tomato              die Tomate/Tomaten        banana              die Banane/Bananen
stuff
bread               das Brot                  cheese              der Käse
meat                das Fleisch               rice                der Reis
soup                die Suppe                 salad               der Salat
honey               der Honig                 chocolate           die Schokolade
drink
water               das Wasser                milk                die Milch
coffee              der Kaffee                tea                 der Tee
juice               der Saft                  wine                der Wein
beer                das Bier                  lemonade            die Limonade
text
book                das Buch/Bücher           newspaper           die Zeitung/Zeitungen
letter              der Brief/Briefe          novel               der Roman/Romane
poem                das Gedicht/Gedichte      magazine            die Zeitschrift/Zeitschriften
story               die Geschichte/Geschichten  report            der Bericht/Berichte
postcard            die Postkarte/Postkarten
clothes
shirt               das Hemd/Hemden           coat                der Mantel/Mäntel
dress               das Kleid/Kleider         hat                 der Hut/Hüte
jacket              die Jacke/Jacken          skirt               der Rock/Röcke
shoe                der Schuh/Schuhe          sweater             der Pullover/Pullover
scarf/scarves       der Schal/Schals          blouse              die Bluse/Blusen
vehicle
car                 das Auto/Autos            bicycle             das Fahrrad/Fahrräder
boat                das Boot/Boote            tractor             der Traktor/Traktoren
transport
bus                 der Bus/Busse             train               der Zug/Züge
device
lamp                die Lampe/Lampen          radio               das Radio/Radios
computer            der Computer/Computer     television          der Fernseher/Fernseher
machine             die Maschine/Maschinen    camera              die Kamera/Kameras
case
door                die Tür/Türen             window              das Fenster/Fenster
box                 die Kiste/Kisten          bottle              die Flasche/Flaschen
suitcase            der Koffer/Koffer         bag                 die Tasche/Taschen
drawer              die Schublade/Schubladen  parcel              das Paket/Pakete
thing
key                 der Schlüssel/Schlüssel   ball                der Ball/Bälle
table               der Tisch/Tische          chair               der Stuhl/Stühle
bed                 das Bett/Betten           picture             das Bild/Bilder
mirror              der Spiegel/Spiegel       ring                der Ring/Ringe
umbrella            der Regenschirm/Regenschirme  pencil          der Bleistift/Bleistifte
knife/knives        das Messer/Messer         spoon               der Löffel/Löffel
plate               der Teller/Teller         glass               das Glas/Gläser
cup                 die Tasse/Tassen          flower              die Blume/Blumen
present             das Geschenk/Geschenke    map                 die Karte/Karten
photo               das Foto/Fotos            carpet              der Teppich/Teppiche
candle              die Kerze/Kerzen          towel               das Handtuch/Handtücher
building
house               das Haus/Häuser           bridge              die Brücke/Brücken
castle              das Schloss/Schlösser     tower               der Turm/Türme
thought
question            die Frage/Fragen          idea                die Idee/Ideen
problem             das Problem/Probleme      answer              die Antwort/Antworten
secret              das Geheimnis/Geheimnisse word                das Wort/Wörter
plan                der Plan/Pläne            rule                die Regel/Regeln
mistake             der Fehler/Fehler         song                das Lied/Lieder
film                der Film/Filme            language            die Sprache/Sprachen
place
garden              der Garten/Gärten         kitchen             die Küche/Küchen
room                das Zimmer/Zimmer         park                der Park/Parks
forest              der Wald/Wälder           city                die Stadt/Städte
school              die Schule/Schulen        station             der Bahnhof/Bahnhöfe
market              der Markt/Märkte          church              die Kirche/Kirchen
office              das Büro/Büros            cinema              das Kino/Kinos
museum              das Museum/Museen         hospital            das Krankenhaus/Krankenhäuser
restaurant          das Restaurant/Restaurants  library           die Bibliothek/Bibliotheken
beach               der Strand/Strände        river               der Fluss/Flüsse
village             das Dorf/Dörfer           farm                der Bauernhof/Bauernhöfe
bakery              die Bäckerei/Bäckereien   airport             der Flughafen/Flughäfen
"""
"""English, with an irregular plural after a slash; German with its article and plural; `weak` adds -n in most cases."""

PLACES = """
garden: in in dat, into in acc         kitchen: in in dat, into in acc     room: in in dat, into in acc
park: in in dat, into in acc           forest: in in dat, into in acc      city: in in dat, into in acc
school: at in dat, to zu dat           station: at an dat, to zu dat       market: at auf dat, to zu dat
church: in in dat, to in acc           office: in in dat, to in acc        cinema: at in dat, to in acc
museum: in in dat, to in acc           hospital: in in dat, to in acc      restaurant: in in dat, to in acc
library: in in dat, to in acc          beach: at an dat, to an acc         river: by an dat, to zu dat
village: in in dat, into in acc        farm: on auf dat, to zu dat         bakery: in in dat, to zu dat
airport: at an dat, to zu dat
"""
"""How one is there and how one goes there: English preposition, German preposition, the case it governs."""

VERBS = """
eat ate eaten          : essen isst gegessen          : food stuff                              : animal hand
drink drank drunk      : trinken trinkt getrunken     : drink                                   : animal hand
buy bought             : kaufen                       : food stuff drink text clothes vehicle device thing suitcase bag
sell sold              : verkaufen                    : food stuff text clothes vehicle device house
order                  : bestellen                    : food stuff drink book
like                   : mögen mag gemocht            : food stuff drink animal poem song city  : state
bake                   : backen backt gebacken        : cake bread roll
cook                   : kochen                       : soup rice meat potato egg sausage
prepare                : vor-bereiten                 : salad soup cake report
read read              : lesen liest gelesen          : text
write wrote written    : schreiben schreibt geschrieben : letter report poem story novel postcard book : hand
see saw seen           : sehen sieht gesehen          : person kin animal vehicle transport building film
                       picture : point animal
hear heard             : hören                        : dog bird song train answer radio story  : point animal
find found             : finden findet gefunden       : key ring ball umbrella knife map bag letter photo shoe cat dog
                       mistake answer : point animal
lose lost              : verlieren verliert verloren  : key ring ball umbrella bag letter hat scarf map : point unwilled
look, for              : suchen                       : person kin animal key ring bag umbrella pencil book hat
open                   : auf-machen                   : case letter : hand
close                  : zu-machen                    : door window box bottle suitcase bag drawer book : hand
lock                   : ab-schließen schließt geschlossen : door suitcase house drawer : hand
unpack                 : aus-packen                   : box suitcase bag parcel present : hand
carry                  : tragen trägt getragen        : box suitcase bag parcel chair table bottle carpet bicycle : hand
wear wore worn         : tragen trägt getragen        : clothes ring
put put, +on           : an-ziehen zieht gezogen      : clothes : hand
take took taken, +off  : aus-ziehen zieht gezogen     : shirt coat dress jacket skirt shoe sweater blouse : hand
try, +on               : an-probieren                 : clothes
turn, +on              : ein-schalten                 : device
turn, +off             : aus-schalten                 : device
repair                 : reparieren                   : vehicle bus device chair table door window umbrella : hand
wash                   : waschen wäscht gewaschen     : shirt dress skirt sweater blouse car plate cup
                       glass dog towel : hand
clean                  : putzen                       : window shoe mirror kitchen bicycle : hand
tidy, +up              : auf-räumen                   : room kitchen office drawer house
throw threw thrown, +away : weg-werfen wirft geworfen : newspaper magazine bottle shoe box letter carpet : hand
give gave given, +back : zurück-geben gibt gegeben    : book key umbrella camera ring photo
hang hung, +up         : auf-hängen                   : picture coat mirror towel photo jacket map : hand
forget forgot forgotten : vergessen vergisst vergessen : key word answer umbrella bag present rule : point unwilled
hide hid hidden        : verstecken                   : key letter present ring photo secret chocolate
steal stole stolen     : stehlen stiehlt gestohlen    : ring car bag picture bicycle camera apple : unwilled
break broke broken     : zerbrechen zerbricht zerbrochen : plate cup glass mirror bottle : point unwilled
collect                : sammeln                      : postcard photo picture map : many
draw drew drawn        : zeichnen                     : animal house flower map castle bridge boat : hand
build built            : bauen                        : building boat table bed
love                   : lieben                       : kin animal child city language          : state
know knew known        : kennen kennt gekannt         : person kin story song secret city rule answer film : state
need                   : brauchen                     : vehicle device key bed knife umbrella table map
                       pencil coat : state
have had               : haben hat gehabt             : brother sister son daughter animal vehicle device question idea
                       plan secret house garden suitcase : state
understand understood  : verstehen versteht verstanden : question idea problem answer word plan rule
                       language poem report : state
visit                  : besuchen                     : kin museum city castle school village farm church
meet met               : treffen trifft getroffen     : person kin                              : point
call                   : an-rufen ruft gerufen        : person kin
pick, +up              : ab-holen                     : kin child guest girl boy parcel
invite                 : ein-laden lädt geladen       : person kin
wake woke woken, +up   : auf-wecken                   : kin child guest boy girl dog
kiss                   : küssen                       : mother child friend grandmother daughter son
ask                    : fragen                       : person kin
feed fed               : füttern                      : animal child
catch caught           : fangen fängt gefangen        : ball mouse bird rabbit hen duck         : animal
help                   : helfen hilft geholfen dat    : person kin
thank                  : danken dat                   : person kin
answer                 : antworten dat                : person kin
follow                 : folgen dat sein              : person kin animal                       : animal
trust                  : vertrauen dat                : person kin                              : state
congratulate           : gratulieren dat              : person kin
listen, to             : zu-hören dat                 : person kin
wait, for              : warten auf acc               : person kin bus train letter answer parcel
think thought, of      : denken denkt gedacht an acc  : kin teacher girl child : unwilled
talk, about            : sprechen spricht gesprochen über acc : film text plan problem secret school city mistake
dream dreamt, of       : träumen von dat              : castle house boat beach horse garden sister : unwilled
laugh, at              : lachen über acc              : story mistake hat idea film monkey picture : unwilled
look, after            : auf-passen auf acc           : child animal bag suitcase house
give gave given        : geben gibt gegeben           : present book key apple ball cup flower umbrella : receiver
show showed shown      : zeigen                       : picture photo map castle garden house ring letter : receiver
send sent              : schicken                     : letter postcard parcel photo flower present book : receiver
bring brought          : bringen bringt gebracht      : coffee tea water newspaper soup chair cake key bag : receiver
lend lent              : leihen leiht geliehen        : car bicycle book umbrella camera pencil suitcase : receiver
tell told              : erzählen                     : story secret                            : receiver
explain                : erklären                     : rule problem plan question word answer picture : receiver to
sleep slept            : schlafen schläft geschlafen  :                                         : animal place
work                   : arbeiten                     :                                         : place
play                   : spielen                      :                                         : animal place
dance                  : tanzen                       :                                         : place
sing sang sung         : singen singt gesungen        :                                         : place
cry                    : weinen                       :                                         : place
live                   : wohnen                       :                                         : place state
stay                   : bleiben bleibt geblieben sein :                                        : place
wait                   : warten                       :                                         : place
go went gone           : gehen geht gegangen sein     :                                         : direction
drive drove driven     : fahren fährt gefahren sein   :                                         : direction
run ran run            : laufen läuft gelaufen sein   :                                         : direction animal
come came come         : kommen kommt gekommen sein   :                                         : direction animal
arrive                 : an-kommen kommt gekommen sein :                                        : arrival
say said, that         : sagen                        :                                         : clause
hope, that             : hoffen                       :                                         : clause
believe, that          : glauben                      :                                         : clause
know knew known, that  : wissen weiß gewusst          :                                         : clause
know knew known, whether : wissen weiß gewusst        :                                         : clause
ask, whether           : fragen                       :                                         : clause
get got got, +up       : auf-stehen steht gestanden sein :                                      : time
"""
"""English: base, past, participle where irregular, then a particle (+on) or a preposition (for).
German: infinitive, er-form and participle where irregular, then the case or the preposition it governs, and `sein`.
Then the objects it can have, by noun or kind; then marks: animals too can do it; a `state` and a `point` have no
progressive; it has a `receiver`, in English after `to`; it is done by `hand`, to `many`, or is `unwilled`; it
goes with a `place`, a `direction`, a `time` or a `clause`."""

ADJECTIVES = """
person kin: old alt, young jung, friendly freundlich, clever klug, rich reich, poor arm, strong stark, famous berühmt,
    brave mutig, lazy faul, honest ehrlich, tall groß, little klein
animal: old alt, young jung, big groß, small klein, black schwarz, white weiß, brown braun, clever klug, hungry hungrig
food stuff: fresh frisch, good gut, expensive teuer, cheap billig
drink: fresh frisch, good gut, expensive teuer, cheap billig, cold kalt, warm warm
text thought: new neu, old alt, interesting interessant, boring langweilig, important wichtig, strange seltsam,
    good gut, long lang, short kurz, difficult schwierig, simple einfach
clothes: new neu, old alt, beautiful schön, red rot, blue blau, green grün, yellow gelb, warm warm, expensive teuer,
    cheap billig, dirty schmutzig, clean sauber, dark dunkel
vehicle device transport: new neu, old alt, expensive teuer, cheap billig, modern modern, fast schnell,
    broken kaputt, big groß, small klein
case: new neu, old alt, heavy schwer, big groß, small klein, broken kaputt, green grün, blue blau
thing: new neu, old alt, beautiful schön, expensive teuer, cheap billig, red rot, white weiß, big groß, small klein,
    broken kaputt, yellow gelb
building: new neu, old alt, beautiful schön, big groß, small klein, famous berühmt, modern modern, dark dunkel
place: beautiful schön, big groß, small klein, old alt, quiet ruhig
feeling: happy glücklich, sad traurig, angry wütend, proud stolz, nervous nervös, surprised überrascht,
    satisfied zufrieden
condition: tired müde, sick krank, hungry hungrig, happy glücklich, sad traurig, alone allein
"""
"""Which adjectives suit which kinds of nouns; a `feeling` has a reason, a `condition` needs none."""

ADVERBS = """
present: today heute, in1 the1 morning2 = am1 Morgen2, in1 the1 evening2 = am1 Abend2, every1 day2 = jeden1 Tag2,
    on1 Monday2 = am1 Montag2, on1 Sunday2 = am1 Sonntag2, this1 week2 = diese1 Woche2
progressive: now jetzt, today heute, right1 now1 = gerade1
past: yesterday gestern, last1 week2 = letzte1 Woche2, last1 year2 = letztes1 Jahr2, on1 Friday2 = am1 Freitag2,
    recently neulich, last1 summer2 = letzten1 Sommer2
future: tomorrow morgen, soon bald, next1 week2 = nächste1 Woche2, next1 month2 = nächsten1 Monat2, later später,
    on1 Saturday2 = am1 Samstag2
often: often oft, always immer, sometimes manchmal, seldom selten, never nie
done: already schon, just gerade, never nie
command: today heute, tomorrow morgen, now jetzt, soon bald, in1 the1 evening2 = am1 Abend2
hand: quickly schnell, slowly langsam, carefully vorsichtig
alone: alone allein, quietly leise
degree: very sehr, too zu, quite ziemlich
spans: hours Stunden, days Tagen, weeks Wochen, months Monaten, years Jahren
"""
"""By use. Digits say which words translate which where there is more than one."""

NAMES = """
Anna Maria Julia Lena Clara Eva: feminine
Peter Paul Martin Jan Karl David: masculine
Berlin Berlin, Hamburg Hamburg, Munich München, Vienna Wien, Cologne Köln, Zurich Zürich, Rome Rom, Paris Paris: city
"""
