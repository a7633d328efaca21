"""Texts of the set with long answers, for even seeds. The figures in the docs use odd seeds."""

from bench.recall.long_texts import Topic, rows

TOPICS = (
    Topic(
        "sourdough baking",
        "starter, flour, oven, crumb, crust, dough, loaf, proofing, salt, steam, rye, jar, fridge",
        rows("""
one | I keep the starter in the {colour} jar that I got from {name}. | Who gave me the container for my starter? | I must return the container to its owner, and feed the starter before.
one | My oven has a hot corner at the back, so I turn the loaf after {n} minutes. | After how long do I turn the loaf in my oven? | The loaf is in the oven, and the timer still has to be set for turning it.
changed | I bake with {brand} flour from the mill. | Which flour do I use now? | The bag is empty, so I am ordering my usual flour again. | I gave up on the mill, from today on all bread is made with {brand2} flour.
preference | A thick dark crust is what I enjoy, a pale loaf is a sad loaf. | How do I like the crust of a loaf? | Tonight there is a loaf in the oven, and you know how I like it.
instruction | When you give me amounts for dough, always use grams and never cups. | How did I want amounts for dough written? | I am about to mix a new dough, so write down the amounts for two loaves.
"""),
        (
            "I gave a loaf to {name} today.",
            "My neighbour {name2} took one of the loaves home.",
            "The third loaf of the week went to {name3}.",
        ),
        "To whom have I given bread?",
        (
            "I ordered the proofing baskets.",
            "I went to the baking class.",
            "I built the steam box for the oven.",
        ),
        "Did I go to the class before or after I got the baskets?",
        "Which mixer did I buy for the dough?",
    ),
    Topic(
        "marathon training",
        "race, pace, shoes, long run, interval, recovery, knee, week, distance, hill, watch, plan, gel",
        rows("""
one | I signed up for {city} with the bib number {code}. | What is my start number? | The form of the race asks for my number, and I am filling it in now.
one | My sister {name} will wait with a jacket at kilometre {n}. | At which point of the course does my sister stand? | I am writing to my sister about where we meet during the race.
changed | My target for the race is 3 hours {n}. | What finishing time do I aim for? | I am setting the pace on my watch according to my target. | After the last weeks I am more modest, I want to arrive under 4 hours {n2}.
preference | Please no early mornings, I run best after {hour} in the evening. | At what time of day do I like to run? | Put the interval of tomorrow into my calendar at a good hour for me.
instruction | Leave out speed work for me until I say that the {side} knee is fine. | What should you leave out of my plan because of an injury? | I need the plan for next week, with all the sessions that I may do.
"""),
        (
            "I bought gels of the sort {brand}.",
            "The drink of {brand2} went down well, too.",
            "Salt tablets from {brand3} are in my belt.",
        ),
        "Which brands of nutrition have I tried on runs?",
        (
            "I ran the half distance in {city2}.",
            "I changed to the wide shoes.",
            "I got the watch for my birthday.",
        ),
        "What came first, the half distance or the new shoes?",
        "Who is my physiotherapist?",
    ),
    Topic(
        "the vegetable garden",
        "bed, soil, seed, tomato, compost, water, frost, row, mulch, slug, bean, shed, harvest",
        rows("""
one | The key of the shed hangs behind the {colour} pot. | Where is the thing that opens the shed? | I am at the locked shed, and the tools are inside.
one | Our plot is number {n} at the allotments of {city}. | What is the number of our allotment? | The new member wants to visit our plot, so I am sending her there.
changed | {name} waters the beds while we are away. | Who takes care of the watering in our absence? | We leave on Friday, and somebody has to be told about the beds. | {name} has no time any more, {name2} will do the beds from now on.
preference | I would rather lose half of the harvest than use poison against slugs. | What do I think about fighting slugs? | There are slugs all over the bean row again, so let us do something about it.
instruction | Name plants by their Latin names, too, as I am learning them. | How did I ask you to name plants? | I am making a list of the plants for the new bed with you.
"""),
        (
            "The tomato sort {brand} goes into the first bed.",
            "In the second bed I sowed {brand2}.",
            "A friend brought me seedlings of {brand3}.",
        ),
        "Which sorts do I grow?",
        ("I dug the pond.", "The compost heap moved behind the hedge.", "The greenhouse arrived."),
        "Was the pond there before the greenhouse?",
        "How much did the rain barrel cost?",
    ),
    Topic(
        "learning the guitar",
        "chord, string, pick, fret, song, strumming, tuning, scale, practice, capo, rhythm, teacher, amp",
        rows("""
one | My teacher is {name}, who played on ships for years. | What did my teacher do in the past? | My teacher has a birthday, and the card should mention the old profession.
one | The serial number of my guitar ends with {code}. | How does the number of my instrument end? | The insurance form for my guitar has one open line, the number.
changed | Lessons are on {day} evenings. | On which day do I have lessons? | I am making an appointment that must not collide with my lesson. | The lesson moves to {day2} from this week on.
preference | Give me slow blues, fast metal only makes me nervous. | What style of music suits me? | I need a new song to practise, pick something for me.
instruction | Write chords as letters above the words, diagrams do not help me. | In which form do I want chords? | I want to play the next song, so write down its chords.
"""),
        (
            "I can now play {brand} from start to end.",
            "This month I learned {brand2} by heart.",
            "{brand3} works without looking, too.",
        ),
        "Which pieces have I mastered?",
        ("The amp broke.", "I played at the party of {name2}.", "I had the frets repaired."),
        "Did I perform before or after the amp failed?",
        "Which pedal do I own?",
    ),
    Topic(
        "learning Italian",
        "verb, lesson, word, grammar, accent, course, card, exam, tense, listening, podcast, tutor, level",
        rows("""
one | The exam is on the {n}th of {month} in {city}. | When and where do I sit the test? | I am booking a hotel for the night before my exam.
one | My tutor {name} comes from a village near {city2}. | Where was my tutor born? | I want to surprise my tutor with a cake from home.
changed | I learn {n} new cards a day. | How many words a day do I take on? | Set up my card app the way I do it. | That was too much, I have gone down to {n2} cards a day.
preference | I learn by talking, tables of endings put me to sleep. | What way of learning works for me? | Today we do the past tense, so prepare it in a way that works for me.
instruction | Correct every mistake at once, also in the middle of a sentence. | How should you treat my mistakes? | Let us have a small talk in Italian about my weekend now.
"""),
        (
            "I watched the film {brand} without subtitles.",
            "After that came {brand2} in the original.",
            "Last night it was {brand3}, also without help.",
        ),
        "Which films have I seen in the foreign language?",
        (
            "I finished the first course book.",
            "I wrote a letter to {name2} in Italian.",
            "I joined the table of speakers.",
        ),
        "Had I finished the book when I joined the table?",
        "Which dictionary do I use?",
    ),
    Topic(
        "moving to the new flat",
        "box, lease, van, key, landlord, deposit, room, floor, lift, painter, shelf, address, contract",
        rows("""
one | The landlord holds {price} euros until we leave. | How high is the sum that the owner keeps? | The landlord has written about what we get back, and I am checking the sum.
one | The code for the front door is {code}. | What do I type in at the entrance? | The movers are standing at the entrance and cannot get in.
changed | The van is booked for the {n}th of {month}. | On what date do we move? | I am taking time off for the day with the van. | The firm has called, the van comes on the {n2}th of {month2} instead.
preference | White walls only, colours in a room tire me. | What do I want my walls to look like? | The painter is asking about the rooms, and needs an answer today.
instruction | In letters to the landlord, sign with my full name {name} {brand}. | With what name should you sign letters for me? | Write a letter to the landlord about the broken lift.
"""),
        (
            "The sofa goes to {name2}.",
            "{name3} takes the shelf and the lamp.",
            "We leave the freezer to {name4}.",
        ),
        "Who receives pieces of our furniture?",
        (
            "We cancelled the old contract.",
            "The new lease was signed.",
            "I registered the new address.",
        ),
        "Did we sign for the new place before we gave notice?",
        "How long is the corridor?",
    ),
    Topic(
        "life with the cat",
        "vet, food, litter, toy, fur, bowl, tail, window, balcony, scratching post, kitten, weight, chip",
        rows("""
one | Our vet is Doctor {name} in {city}. | Who treats our animal? | The cat is limping, and I am looking for the number to call.
one | She weighed {n}.5 kilos at the last check. | What was the result on the scale? | The dose depends on how heavy the cat is, and I am measuring it out.
changed | The cat eats {brand} twice a day. | Which food does our pet get? | The shop is open, so I am getting her food. | She is sick of that, now she only takes {brand2}.
preference | I would never lock her out of the bedroom, she sleeps on my feet. | What is my rule about the cat and the bedroom? | My guest asks where the cat sleeps at night.
instruction | Never suggest anything with {plant} in it, since she is allergic. | What must be avoided in suggestions for her? | I am looking for a new snack for the cat, so suggest something.
"""),
        (
            "She was afraid of the {brand3} today.",
            "Also the balloon scared her.",
            "And she ran from the hoover under the bed.",
        ),
        "What frightens our pet?",
        ("She got her chip.", "The balcony net was put up.", "We built the scratching post."),
        "Was the net there before the chip?",
        "How old is the neighbour's dog?",
    ),
    Topic(
        "opening a small cafe",
        "menu, rent, loan, coffee, supplier, licence, guest, table, price, machine, staff, opening, cup",
        rows("""
one | The bank gives us {price} euros over {n} years. | How much do we borrow? | I am filling the business plan with the sum from the bank.
one | The beans come from a roaster called {brand}. | Where do we buy coffee? | The beans run out on Monday, so I am writing to the roaster.
changed | We open on the {n}th of {month}. | When is the first day for guests? | The flyer goes to print, and the day of the opening must be on it. | The licence takes longer, so the opening is on the {n2}th of {month2}.
preference | No music in the cafe, silence is our luxury. | Do I want something to be played in the background? | A man offers us speakers for the cafe, and I am answering him.
instruction | Calculate all prices with {n3} percent tax included. | How should you calculate prices? | I need the price for a cup of cappuccino on the menu.
"""),
        (
            "I hired {name} for the mornings.",
            "{name2} starts on weekends.",
            "For the kitchen we found {name3}.",
        ),
        "Who is on my team?",
        (
            "The machine was delivered.",
            "The sign above the door is up.",
            "We passed the inspection.",
        ),
        "Was the inspection before the delivery of the machine?",
        "What did the chairs cost?",
    ),
    Topic(
        "photography",
        "lens, light, camera, exposure, aperture, tripod, portrait, print, shutter, flash, film, frame, edit",
        rows("""
one | My camera has the firmware {n}.{n2}, the last one without bugs. | Which version runs on my device? | The camera shop asks what is installed on mine.
one | The portrait of {name} will hang in the library of {city}. | In which building is one of my pictures shown? | I am telling my mother where she can see the portrait.
changed | I use the {n} millimetre lens for everything. | What lens do I currently work with? | I am packing my bag, and one lens is enough. | The old lens is sold, the {n2} millimetre one stays on the camera.
preference | Black and white touches me more than colour. | Which look of pictures moves me? | Choose an edit for the new series in my taste.
instruction | Keep the edits so small that the judges of {brand} accept them. | By whose rules should edits be made? | Here is the next portrait, so plan the edit with me.
"""),
        (
            "I sold a print to {name2}.",
            "{name3} bought the harbour at night.",
            "The large print went to {name4}.",
        ),
        "Who are the buyers of my pictures?",
        ("I had the exhibition in {city2}.", "The tripod was stolen.", "I built the dark room."),
        "Did the theft happen before my show?",
        "Which paper do I print on?",
    ),
    Topic(
        "the sailing trip",
        "boat, harbour, wind, mast, sail, crew, anchor, chart, rope, tide, engine, knot, storm",
        rows("""
one | The boat is called {brand} and is moored at pier {n}. | What is the name of our vessel? | The harbour wants a form with the name of the boat.
one | {name} gets seasick and takes pills before each trip. | Which member has trouble on the water? | I am packing the medicine chest for the crew.
changed | We start from {city}. | Where does the journey begin? | The train to the start of our trip has to be booked. | The harbour there is closed, so we start from {city2}.
preference | I love sleeping at anchor, marinas are too loud for me. | Where do I like to spend nights on board? | Plan the nights of our route so that I can sleep.
instruction | Give wind in knots and distances in nautical miles, please. | Which units do I want for wind and distance? | Describe the leg of tomorrow with wind and distances.
"""),
        (
            "We stopped in {city3}.",
            "Yesterday we lay in {city4}.",
            "Now we are behind the wall of {city5}.",
        ),
        "Which ports have we visited?",
        ("The engine failed.", "We caught the first fish.", "The sail tore in the storm."),
        "Was the torn sail before the trouble with the engine?",
        "How long is the anchor chain?",
    ),
)

SMALL_TALK = """
Thanks, see you!|Thanks, see you tomorrow.|Good morning!|Good night, sleep well.|Haha, very funny.|OK, sounds good.
You are the best.|Great, thank you so much!|Hi there, how are you?|Fine, and you?|No problem at all.|Perfect, that helps.
I am back.|Just saying hello.|Have a nice evening.|Nice one!|Sure, go ahead.|All right, talk to you later.|Bye for now.
Wow, that was quick.|Hmm, let me think about it.|I will be right back.|Sorry, I was away.|That is sweet of you.|Happy to hear that.
Cool, got it.|Yes please.|No thanks.|Maybe later.|Not now, I am busy.|What a day!|I am so tired today.|Enjoy your weekend!|Same to you.
Hello again.|Good afternoon to you.|You made me smile.|Well done!|Let us stop here for today.|I appreciate it.|Never mind.|Okay, noted.
Lovely, cheers.|I am bored.|Long time no see!|Exactly.|I totally agree.|That makes sense to me, thanks.|Awesome, bye!|Take care.
"""
