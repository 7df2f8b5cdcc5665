%% two coins
% A fair coin and one that is not.
0.5::heads1.
0.6::heads2.
twoHeads :- heads1, heads2.   % both of them
query(heads1).
query(heads2).
query(twoHeads).
%% at least one of two
0.4::red.
0.7::blue.
some :- red.
some :- blue.
query(some).
%% a deterministic fact
certain.
0.2::maybe :- certain.
query(maybe).
query(certain).
%% facts with arguments
0.3::edge(a,b). 0.4::edge(b,c). 0.5::edge(a,c).
query(edge(_,_)).
%% probability as a fraction
1/3::a.
2/7::b.
c :- a, b.
query(c).
%% the same fact twice
0.3::a.
0.3::a.
query(a).
%% numbers, names and texts as arguments
0.1::p(1). 0.2::p(-3). 0.3::p(abc). 0.4::p("a text"). 0.5::p(f(x,2)).
query(p(X)).
%% scientific notation
1.0e-3::rare.
0.999::common.
both :- rare, common.
query(both).
%% a fact that holds for whatever is asked
0.5::lucky(X).
both :- lucky(anna), lucky(bob).
query(both).
%% a rule with a probability
0.1::burglary.
0.9::alarm :- burglary.
query(alarm).
%% one choice for each instance
person(ann). person(bob). person(cid).
0.3::tall(X) :- person(X).
some :- tall(X).
query(some).
query(tall(_)).
%% body variables tell choices apart
seen(1,a). seen(1,b). seen(2,a).
0.5::noticed(X) :- seen(X,Y).
query(noticed(_)).
%% anonymous variables tell choices apart as well
seen(1,a). seen(1,b). seen(2,a).
0.5::noticed(X) :- seen(X,_).
query(noticed(_)).
%% noisy or
0.3::cause(1). 0.6::cause(2). 0.2::cause(3).
0.8::effect :- cause(1).
0.5::effect :- cause(2).
0.4::effect :- cause(3).
query(effect).
%% probability from a fact
chance(a,0.25). chance(b,0.5). chance(c,1).
P::open(X) :- chance(X,P).
query(open(_)).
%% probability that is computed
sides(d4,4). sides(d6,6).
P::top(D) :- sides(D,N), P is 1/N.
query(top(_)).
%% probability with an expression before it
weight(a,3). weight(b,7).
W/10::chosen(X) :- weight(X,W).
query(chosen(_)).
