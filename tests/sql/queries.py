"""The three views of the paper on distributed views, in SQL, and the same in rules.

As in the paper, statements follow each other without a semicolon, and a WITH without a SELECT is
a view.
"""

REACHABLE = """
with recursive reachable(src,dst) as
( select src, dst
  from link
  union
  select link.src, reachable.dst
  from link, reachable
  where link.dst = reachable.src)
"""

REACHABLE_RULES = """
.decl link(src: symbol, dst: symbol)
.input link
.decl reachable(src: symbol, dst: symbol)
.output reachable
reachable(x, y) :- link(x, y).
reachable(x, y) :- link(x, z), reachable(z, y).
"""

PATHS = """
with recursive path(src,dst,vec,cost,length) as
((select src, dst, src || '.' || dst, cost, 1
  from link
  ) union (
  select L.src, P.dst, L.src || '.' || P.vec, L.cost+P.cost, P.length+1
  from link L, path P
  where L.dst = P.src
  ))

create view minCost(src,dst,cost) as
(select src, dst, min(cost) from path
 group by src, dst)

create view minHops(src,dst,length) as
(select src, dst, min(length) from path
 group by src, dst)

create view cheapestPath(src,dst,vec,cost) as
(select P.src, P.dst, P.vec, P.cost
 from path P, minCost C
 where P.src = C.src and P.dst = C.dst and P.cost = C.cost)

create view fewestHops(src,dst,vec,length) as
  (select P.src, P.dst, P.vec, P.length
   from path P, minHops H
   where P.src = H.src and P.dst = H.dst and P.length = H.length)

create view shortestCheapestPath(src,dst,vec1,cost,vec2,length) as
  (select P.src, P.dst, P.vec, P.cost, H.vec, H.length
   from cheapestPath P, fewestHops H
   where P.src = H.src and P.dst = H.dst)
"""

PATHS_RULES = """
.decl link(src: symbol, dst: symbol, cost: number)
.input link
.decl path(src: symbol, dst: symbol, vec: symbol, cost: number, length: number)
path(x, y, cat(x, ".", y), c, 1) :- link(x, y, c).
path(x, y, cat(x, ".", p), c0 + c1, 1 + n) :- link(x, z, c0), path(z, y, p, c1, n).
.decl minCost(src: symbol, dst: symbol, cost: number)
minCost(x, y, c) :- path(x, y, _, _, _), c = min d : { path(x, y, _, d, _) }.
.decl minHops(src: symbol, dst: symbol, length: number)
minHops(x, y, n) :- path(x, y, _, _, _), n = min d : { path(x, y, _, _, d) }.
.decl cheapestPath(src: symbol, dst: symbol, vec: symbol, cost: number)
cheapestPath(x, y, p, c) :- path(x, y, p, c, _), minCost(x, y, c).
.decl fewestHops(src: symbol, dst: symbol, vec: symbol, length: number)
fewestHops(x, y, p, n) :- path(x, y, p, _, n), minHops(x, y, n).
.decl shortestCheapestPath(
  src: symbol, dst: symbol, vec1: symbol, cost: number, vec2: symbol, length: number)
shortestCheapestPath(x, y, p, c, q, n) :- cheapestPath(x, y, p, c), fewestHops(x, y, q, n).
.output minCost
.output cheapestPath
.output fewestHops
.output shortestCheapestPath
"""

REGIONS = """
with recursive activeRegion(regionid,sensorid) as
  ( select M.regionid, S.sensorid
    from sensor S, mainSensorInRegion M, isTriggered T
    where M.sensorid = S.sensorid and S.sensorid = T.sensorid
  union
    select A.regionid, S2.sensorid
    from sensor S1, sensor S2, activeRegion A, isTriggered T
    where distance(S1.coord, S2.coord) < 20
      and S1.sensorid = A.sensorid and S1.sensorid = T.sensorid )

create view regionSizes(regionid,size) as
  (select regionid, count(sensorid)
   from activeRegion
   group by regionid)

create view largestRegion(size) as
  (select max(size) from regionSizes)

create view largestRegions(regionid) as
  (select R.regionid
   from regionSizes R, largestRegion L
   where R.size = L.size)
"""

REGIONS_RULES = """
.functor distance(a: symbol, b: symbol): float
.decl sensor(sensorid: number, coord: symbol)
.decl mainSensorInRegion(regionid: number, sensorid: number)
.decl isTriggered(sensorid: number)
.decl activeRegion(regionid: number, sensorid: number)
activeRegion(r, x) :- sensor(x, _), mainSensorInRegion(r, x), isTriggered(x).
activeRegion(r, y) :-
  sensor(x, p), sensor(y, q), isTriggered(x), activeRegion(r, x), @distance(p, q) < 20.0.
.decl regionSizes(regionid: number, size: number)
regionSizes(r, n) :- activeRegion(r, _), n = count : { activeRegion(r, _) }.
.decl largestRegion(size: number)
largestRegion(n) :- n = max m : { regionSizes(_, m) }.
.decl largestRegions(regionid: number)
largestRegions(r) :- regionSizes(r, n), largestRegion(n).
"""
