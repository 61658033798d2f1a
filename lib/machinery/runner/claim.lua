#!lua flags=allow-key-locking
-- Claim an operation, or tell what holds it. Sent twice by one attempt it answers the record it wrote.
-- KEYS[1] record, a string with a TTL; only the first claim writes it here, swap.lua afterwards.
-- KEYS[2] open index, a sorted set of operation ids by the moment they fall due; no TTL.
-- ARGV: record text, its TTL in ms, operation id, due moment in ms.
local there = redis.call('SET', KEYS[1], ARGV[1], 'NX', 'GET', 'PX', ARGV[2])
if there then
  return { there, redis.call('PTTL', KEYS[1]) }
end
redis.call('ZADD', KEYS[2], ARGV[4], ARGV[3])
return {}
