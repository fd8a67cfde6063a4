package feed

import (
	"fmt"
	"hash/fnv"
	"strconv"
	"strings"
)

// Shard is one of Of equal parts of all machines, by the hash of their names: so that several programs share the work and
// each node has one that looks after it. The zero value is all of them.
type Shard struct {
	// Index counts from 0.
	Index, Of int
}

// ParseShard reads "I/N", the shard I (from 0) of N. An empty text is all machines.
func ParseShard(text string) (Shard, error) {
	if text == "" {
		return Shard{}, nil
	}
	i, n, ok := strings.Cut(text, "/")
	index, err := strconv.Atoi(i)
	of, err2 := strconv.Atoi(n)
	if !ok || err != nil || err2 != nil || of < 1 || index < 0 || index >= of {
		return Shard{}, fmt.Errorf("shard %q: must be I/N with I from 0 to N-1, such as 0/3", text)
	}
	return Shard{index, of}, nil
}

// Has tells whether the machine of that name is in the shard.
func (s Shard) Has(name string) bool {
	if s.Of <= 1 {
		return true
	}
	h := fnv.New32a()
	h.Write([]byte(name))
	return int(h.Sum32()%uint32(s.Of)) == s.Index
}

// String is what [ParseShard] reads.
func (s Shard) String() string {
	if s.Of == 0 {
		return ""
	}
	return fmt.Sprintf("%d/%d", s.Index, s.Of)
}
