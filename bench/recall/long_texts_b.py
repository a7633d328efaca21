"""Texts of the set with long answers, for odd seeds, whose subjects and wording differ."""

from bench.recall.long_texts import Topic, rows

TOPICS = (
    Topic(
        "keeping bees",
        "hive, honey, queen, frame, smoke, swarm, wax, brood, mite, nectar, comb, feeder, veil",
        rows("""
one | By the way, the farmer {name} lets us put the hives on his meadow for {n} jars a year. | What do we pay for the meadow? | The year is over, and the farmer gets what we owe him.
one | I was stung near the eye last June and carry an injector of {brand} since. | Which emergency medicine do I have with me? | The first aid bag for the hives needs a new label with my medicine.
changed | For mites I treat with {plant} oil in autumn. | What do I treat the mites with? | Autumn is here, and the mites have to be treated as I always do it. | The association advised against it, so mites now get acid in the form of {brand2}.
preference | I do it for the quiet mornings, selling honey does not interest me. | Why do I keep bees at all? | A journalist wants one sentence about why I have hives.
instruction | Remind me to check the weather first whenever I want to open a hive. | What should I be told before I open a hive? | I am going to open the second hive this afternoon.
"""),
        (
            "The white hive came from {name2}.",
            "I took over the blue one from {name3}.",
            "And {name4} gave us the old straw one.",
        ),
        "From which people did our hives come?",
        (
            "We harvested for the first time.",
            "The swarm flew off to the church.",
            "I bought the extractor.",
        ),
        "Had the swarm left when we harvested?",
        "What did the smoker cost?",
    ),
    Topic(
        "planning the wedding",
        "guest, ring, church, cake, dress, band, speech, table, invitation, venue, flower, menu, dance",
        rows("""
one | We said yes to the barn near {city}, it holds {n} people. | How many fit into our place? | The list of guests is growing, and I am comparing it with the room.
one | My brother {name} keeps the rings in his drawer at work. | Who has the rings? | The rings have to go to the engraver this week.
changed | The ceremony is at {hour} o'clock. | At what hour is the ceremony? | The invitations are being printed, with the hour of the ceremony. | The priest can only come earlier, at {hour2} o'clock.
preference | Big speeches embarrass me, a short toast is all I can bear. | What do I feel about speeches? | The witness asks how long he may talk.
instruction | Whatever you write to guests, keep it free of gift wishes. | What must not be in texts for guests? | Draft the invitation for our guests, please.
"""),
        (
            "{name2} cannot eat nuts.",
            "We learned that {name3} avoids gluten.",
            "And {name4} has stopped eating fish.",
        ),
        "Which guests have needs for their food?",
        ("I found the dress.", "We tasted the cake.", "The band signed."),
        "Was the dress found after the tasting?",
        "How long does the photographer stay?",
    ),
    Topic(
        "writing the thesis",
        "chapter, source, professor, draft, method, survey, data, figure, citation, library, deadline, outline, result",
        rows("""
one | {n} people answered my survey, most of them nurses. | How large is my sample? | I am writing the abstract, which names the number of answers.
one | Professor {name} only reads on paper, in the office {code}. | Where do I hand in things for the professor? | The draft is printed, and I am walking over to the professor.
changed | I hand in on the {n}th of {month}. | When must the thesis be in? | I am planning backwards from the day on which I hand in. | The office granted more time, until the {n2}th of {month2}.
preference | I think best with a pencil, screens scatter my mind. | With which tool do I think best? | I am starting the outline of the last chapter, suggest how.
instruction | Cite in the style of {brand}, nothing else is accepted. | What style do citations need? | Here are three new sources for the method chapter, cite them.
"""),
        (
            "The interview with {name2} is done.",
            "I spoke with {name3} for two hours.",
            "Finally {name4} agreed to be recorded.",
        ),
        "With whom have I done interviews?",
        ("The hard disk died.", "I changed the title.", "Ethics approved the survey."),
        "Was the title changed when the disk died?",
        "Which font does the cover have?",
    ),
    Topic(
        "rehabilitation of the knee",
        "exercise, pain, surgeon, brace, stretch, crutch, muscle, swelling, therapy, step, ice, scan, bend",
        rows("""
one | Doctor {name} operated on me at the clinic of {city}. | Who did the operation? | The insurer wants the report of the one who operated.
one | It bends to {n} degrees since this morning. | How far does it bend? | I am filling in the diary of the clinic, with how far it bends.
changed | I may put {n} kilos on the leg. | With how much weight may I load the leg? | I am standing up with the scale under my foot. | After the scan they allow {n2} kilos on it.
preference | Water does me good, machines at the gym feel like prison. | Which surroundings help me to exercise? | The therapist lets me choose where we exercise next month.
instruction | Count in breaths rather than seconds when you describe an exercise. | How do I want the length of an exercise given? | Tell me a new stretch for the back of the leg.
"""),
        (
            "The pills of {brand} made me dizzy.",
            "From {brand2} I got a rash.",
            "{brand3} upset my stomach.",
        ),
        "Which medicines did I not tolerate?",
        ("I threw away the crutches.", "I climbed the stairs alone.", "The stitches came out."),
        "Was I on the stairs before the stitches were gone?",
        "What does the brace weigh?",
    ),
    Topic(
        "building the camper van",
        "bed, battery, roof, window, insulation, heater, wood, tank, wire, sink, curtain, seat, solar",
        rows("""
one | The papers say {n}00 kilos are left for everything we build in. | How heavy may our furniture be? | I am adding up the boards, and compare with what the papers allow.
one | We got it from a baker in {city} who called it {brand}. | What did the former owner call it? | A name for the van goes on the door, why not the old one.
changed | The bed goes across the back. | In which direction do we sleep? | I am sawing the slats for the bed as we planned it. | We lay in it for a test and turned the bed along the {side} side.
preference | Gas in a car frightens me, I cook with electricity or not at all. | What do I cook with in the van? | The kitchen comes next, so let us choose the stove.
instruction | Give each measure in millimetres, the carpenter {name} insists. | Which unit do measures need? | I need the measures of the cupboard for the carpenter.
"""),
        (
            "We slept at the lake of {city2}.",
            "The second night was on a farm in {city3}.",
            "And then we stood by the sea in {city4}.",
        ),
        "Where did we spend nights with it?",
        ("The heater went in.", "The window leaked.", "We passed the technical check."),
        "Did it leak before the heater was in?",
        "Which tyres did we choose?",
    ),
    Topic(
        "playing chess",
        "opening, pawn, knight, rook, endgame, tournament, rating, club, clock, check, trap, defence, gambit",
        rows("""
one | The club meets in the cellar of the {brand} inn. | In what building is the club? | A friend comes to the club tonight and needs the way.
one | I stand at {n}12 points after the season. | What is my rating? | The form for the tournament asks for my points.
changed | With white I begin with the {brand2}. | How do I begin with white? | I have white on Sunday, so let us go through what I play. | It bores me, I begin with the {brand3} now.
preference | Sacrifices are what I live for, I get sleepy in long endgames. | What sort of positions do I love? | Choose a famous game that I will enjoy.
instruction | Ask me for my own idea before you show a solution. | What should you do before you show a solution? | Here is a position from yesterday with a rook on the seventh row.
"""),
        ("I lost to {name}.", "{name2} beat me in twenty moves.", "Against {name3} I gave up."),
        "Against whom have I lost?",
        ("I won the cup.", "The team went up a league.", "I taught my daughter."),
        "Was the cup before the rise of the team?",
        "Which clock do I own?",
    ),
    Topic(
        "knitting",
        "wool, needle, stitch, pattern, sleeve, sock, row, gauge, yarn, collar, scarf, hat, knot",
        rows("""
one | The jumper is for {name}, who measures {n} centimetres around the chest. | How wide must the jumper be? | I am casting on the front of the jumper today.
one | The best merino comes from a widow on {street} street. | Where do I get the finest wool? | I am going to town for wool, and only the finest will do.
changed | I knit with needles of size {n}. | What needle size do I take? | I am ordering new needles like those I knit with. | My hands hurt, so I went over to size {n2}.
preference | I cannot stand pink, whatever the pattern. | Which colour do I dislike? | Put together colours for the blanket of the baby.
instruction | Explain stitches for a left-handed person, since I am one. | What must you consider when explaining stitches? | I need the cable stitch explained once more.
"""),
        (
            "The green hat went to {name2}.",
            "I posted the mittens to {name3}.",
            "{name4} got the long scarf.",
        ),
        "Who has got something knitted by me?",
        ("I finished the blanket.", "The cat ruined the sleeve.", "I joined the circle."),
        "Was the sleeve ruined before I was in the circle?",
        "What does the pattern book cost?",
    ),
    Topic(
        "writing a novel",
        "plot, hero, chapter, scene, editor, dialogue, draft, villain, ending, title, voice, page, publisher",
        rows("""
one | The heroine is {name}, a diver of {n} years from {city}. | How old is the main character? | I am writing the birthday scene of the heroine.
one | The agency {brand} took me on for two books. | Who represents me? | A publisher wrote, and I am sending him to those who speak for me.
changed | It is told by the {colour} ghost. | Who tells the story? | I start the next chapter in the voice of the one who tells it. | It did not work, now the widow {name2} tells it.
preference | Long descriptions of nature make me put a book away. | What do I dislike in books? | Suggest how the chapter in the forest may begin.
instruction | Do not praise my texts, say only what is weak. | What kind of feedback did I ask for? | Here is the new scene in the harbour, read it.
"""),
        (
            "{name3} read the draft in one night.",
            "I sent the pages to {name4}, who liked them.",
            "And {name5} wrote remarks on each page.",
        ),
        "Who has read my text?",
        ("I cut the prologue.", "I won the grant.", "I moved the story to the coast."),
        "Had I got the grant before the prologue was cut?",
        "How many copies will be printed?",
    ),
    Topic(
        "solar panels on the roof",
        "panel, inverter, meter, roof, battery, cable, grid, tariff, shade, installer, kilowatt, permit, storage",
        rows("""
one | The firm of {name} from {city} has the order. | Who builds it for us? | One panel is loose, and I am calling those who built it.
one | The neighbour's walnut throws a shadow from {hour} o'clock on. | From when on is there less sun? | I am setting the washing machine to the hours with full sun.
changed | We get {n} cents for each unit that we feed in. | What are we paid for what we feed in? | I am doing the accounts with what they pay us. | The new contract says {n2} cents for it.
preference | Independence counts for me, the profit is secondary. | What is my motive for the roof? | The adviser asks why we want a battery at all.
instruction | Compare yields by the month and not by the day. | Over what span should yields be compared? | Here are the yields of spring, look at them with me.
"""),
        (
            "The inverter of {brand} was too loud.",
            "We also rejected the one of {brand2}.",
            "And {brand3} could not deliver.",
        ),
        "Which makers did we not take?",
        ("The scaffold stood.", "Hail broke a panel.", "The meter was changed."),
        "Did the hail come after the new meter?",
        "What colour are the cables?",
    ),
    Topic(
        "the aquarium",
        "fish, filter, plant, tank, algae, snail, light, shrimp, gravel, pump, water, feeding, temperature",
        rows("""
one | It holds {n} litres and came from my uncle {name}. | What is the volume of the glass? | I am dosing the medicine by the litre.
one | The light goes on at {hour}, by the timer under the stairs. | At what time does it get bright for the fish? | The power was out, so the timer has to be set again.
changed | The fish get {brand} flakes in the morning. | What do I give the fish to eat? | The tin is empty, so I am buying the same food again. | They spat it out, and I changed to frozen {brand2}.
preference | I want it wild like a river bank, not tidy. | How should it look in there? | I am replanting it on Saturday, so make a sketch in my taste.
instruction | No chemicals in your advice, only what nature offers. | What kind of remedies do you have to leave out? | There is green slime on the glass again, help me.
"""),
        (
            "We call the catfish {name2}.",
            "The red one is {name3}.",
            "And the shy one under the root is {name4}.",
        ),
        "How are the fish called?",
        ("The pump burned out.", "The shrimps had young.", "I replaced the gravel."),
        "Was the gravel replaced before the pump failed?",
        "What did the glass cover cost?",
    ),
)

SMALL_TALK = """
Bye!|See you next week.|Morning!|Sleep tight.|Lol, good one.|Sounds like a plan.|Many thanks for everything!|You rock.|How is it going?
I am fine, thanks.|Do not worry about it.|That is great, thank you.|Here I am again.|Only wanted to say hi.|Have a good one.|Brilliant!
Of course.|Fine, we will speak soon.|So long.|Oh, that was fast.|Give me a second.|One moment please.|My apologies for the delay.|How kind!
Glad to hear it.|Understood.|Yes, do that.|No, leave it.|Another time perhaps.|I have to run.|What a week!|I could sleep all day.|Happy holidays!
And to you.|Hey!|Good evening.|That cheered me up.|Congratulations!|Enough for now.|Much obliged.|Forget it.|Will do.|Ta!|Nothing to do today.
I missed our chats.|Quite right.|I see it the same way.|Right, I get it now.|Super, until then.|All the best.
"""
