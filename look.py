import json,gzip,sys,glob,collections
for p in sorted(glob.glob('/work/shared/data/*.json.gz')):
    d=json.load(gzip.open(p)); print('=====',d['name'],d['lang'])
    hs=d['hays']; 
    T=[t for h in hs.values() for s in h['sessions'] for t in s['turns']]
    print('hays',len(hs),'sess',[len(h['sessions']) for h in hs.values()],'turns',len(T),'speakers',collections.Counter(t['speaker'] for t in T).most_common(6), 'avg chars',sum(len(t['text']) for t in T)/len(T),'reply',sum('reply' in t for t in T))
    print('summ',sum(bool(s['summary']) for h in hs.values() for s in h['sessions']),'facts',sum(len(s['facts']) for h in hs.values() for s in h['sessions']))
    Q=d['questions']; print('cats',collections.Counter(q['cat'] for q in Q)); print('before',sum(q.get('before') is not None for q in Q),'ctx',sum(bool(q.get('ctx')) for q in Q),'empty groups',sum(not q['groups'] for q in Q), 'avg groups', sum(len(q['groups']) for q in Q)/len(Q),'avg tids', sum(len(g) for q in Q for g in q['groups'])/len(Q))
    h=next(iter(hs.values())); s=h['sessions'][0]
    print({k:(v if k not in('turns','facts') else None) for k,v in s.items()}); print(s['facts'][:3])
    for t in s['turns'][:4]: print({k:(v[:300] if isinstance(v,str) else v) for k,v in t.items()})
    import random; random.seed(1)
    for q in random.sample(Q,8): print({k:(str(v)[:300]) for k,v in q.items()})
