#!lua flags=allow-key-locking
-- Replace what the decision was made on, or tell what is there. Sent twice it says yes twice.
-- KEYS[1] record, a string with a TTL; overwritten only if it equals ARGV[1] ('' expects no record).
-- KEYS[2] open index, a sorted set of operation ids by the moment they fall due; no TTL.
-- ARGV: text seen, new text ('' deletes), its TTL in ms, operation id, due moment in ms ('' if closed).
local there = redis.call('GET', KEYS[1])
if there == '' then
  return { there, redis.call('PTTL', KEYS[1]) } -- no record of ours, and not nothing either
end
there = there or ''
if there ~= ARGV[1] and there ~= ARGV[2] then
  return { there, redis.call('PTTL', KEYS[1]) }
end
if there ~= ARGV[2] then
  if ARGV[2] == '' then
    redis.call('DEL', KEYS[1])
  else
    redis.call('SET', KEYS[1], ARGV[2], 'PX', ARGV[3])
  end
end
if ARGV[5] == '' then
  redis.call('ZREM', KEYS[2], ARGV[4])
else
  redis.call('ZADD', KEYS[2], ARGV[5], ARGV[4])
end
return {}
