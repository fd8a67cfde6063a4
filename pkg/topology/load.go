package topology

import (
	"fmt"
	"io"
	"os"
	"reflect"
)

// maxUnread is how many errors of form a file may have before its sense is not looked at: it is no topology then, and
// whatever else could be said of it follows from that.
const maxUnread = 1000

// Load reads and resolves a topology file. The name stands for the file in messages. The error, if any, is an [Errors]
// with everything that is wrong; there is no topology then. A topology without nodes is fine.
func Load(name string, data []byte) (*Topology, error) {
	p := newProblems(name)
	if p.root = p.parse(data); p.root == nil {
		return nil, p.err()
	}
	t := new(Topology)
	decoder{problems: p, records: records{}, items: new(int)}.value(p.root, reflect.ValueOf(t).Elem(), nil)
	if len(p.list) < maxUnread {
		resolve(p, t)
	}
	if err := p.err(); err != nil {
		return nil, err
	}
	return t, nil
}

// LoadFile loads the file at path, reading no more of it than a topology may have.
func LoadFile(path string) (*Topology, error) {
	file, err := os.Open(path)
	if err != nil {
		return nil, fmt.Errorf("topology %w", err)
	}
	defer file.Close() // only read from: closing cannot lose anything
	data, err := io.ReadAll(io.LimitReader(file, MaxSize+1))
	if err != nil {
		return nil, fmt.Errorf("topology %w", err)
	}
	return Load(path, data)
}

// resolve turns what was decoded into a resolved topology, step by step. Each step copes with what the ones before it
// had to report.
func resolve(p *problems, t *Topology) {
	checkHeader(p, t)
	sites, ok := expand(p, t)
	if !ok {
		return
	}
	setDefaults(t)
	checkInventory(p, t, sites)
	placeVMs(p, sites)
	identify(p, t, sites)
}
