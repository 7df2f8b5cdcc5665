%% a die
1/6::die(1); 1/6::die(2); 1/6::die(3); 1/6::die(4); 1/6::die(5); 1/6::die(6).
odd :- die(1).
odd :- die(3).
odd :- die(5).
query(odd).
%% mass that is left over
0.2::colour(red); 0.3::colour(green).
some :- colour(_).
query(some).
query(colour(X)).
%% two urns
0.4::heads.
0.3::ball(1,red); 0.7::ball(1,blue).
0.2::ball(2,red); 0.3::ball(2,green); 0.5::ball(2,blue).
win :- heads, ball(_,red).
win :- ball(1,C), ball(2,C).
query(win).
query(heads).
%% given that we won
0.4::heads.
0.3::ball(1,red); 0.7::ball(1,blue).
0.2::ball(2,red); 0.3::ball(2,green); 0.5::ball(2,blue).
win :- heads, ball(_,red).
win :- ball(1,C), ball(2,C).
evidence(win).
query(heads).
query(ball(1,red)).
%% one disjunction for each die
die(a). die(b).
0.5::roll(D,low); 0.5::roll(D,high) :- die(D).
double :- roll(a,X), roll(b,X).
query(double).
%% with a body that may fail
0.6::sunny.
0.7::mood(good); 0.3::mood(bad) :- sunny.
0.2::mood(good); 0.8::mood(bad) :- \+ sunny.
query(mood(good)).
%% a car behind three doors
1/3::prize(1); 1/3::prize(2); 1/3::prize(3).
select_door(1).
open_door(D) :- D = 2, \+ prize(2), \+ select_door(2), prize(3).
open_door(D) :- D = 3, \+ prize(3), \+ select_door(3), prize(2).
0.5::open_door(2); 0.5::open_door(3) :- prize(1).
win_keep :- prize(1).
win_switch :- prize(D), \+ select_door(D), \+ open_door(D).
query(win_keep).
query(win_switch).
%% disjunction in the body of a disjunction
0.3::c. 0.4::d.
0.5::a; 0.5::b :- (c ; d).
query(a).
query(b).
%% heads of different predicates
0.2::sick(X); 0.3::tired(X); 0.5::well(X) :- person(X).
person(eva). person(jo).
ill(X) :- sick(X).
ill(X) :- tired(X).
query(ill(eva)).
query(well(_)).
%% the old arrow
0.4::a <- b.
0.5::b.
query(a).
%% a chain of states
0.5::weather(0,sun); 0.5::weather(0,rain).
0.6::weather(T,sun); 0.4::weather(T,rain) :- T > 0, S is T-1, weather(S,sun).
0.2::weather(T,sun); 0.8::weather(T,rain) :- T > 0, S is T-1, weather(S,rain).
query(weather(3,sun)).
query(weather(5,rain)).
%% a spinner that is not fair
0.1::spin(D,a); 0.2::spin(D,b); 0.7::spin(D,c) :- round(D).
round(1). round(2). round(3).
all_c :- spin(1,c), spin(2,c), spin(3,c).
query(all_c).
