package topology

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	slash "path"
	"path/filepath"
	"reflect"

	"go.yaml.in/yaml/v3"
)

// maxUnread is how many errors of form a file may have before its sense is not looked at: it is no topology then, and
// whatever else could be said of it follows from that.
const maxUnread = 1000

// Load reads and resolves a topology. The name stands for the data in messages. As there is no folder, nothing can be
// included; settings are values of its parameters. The error, if any, is an [Errors] with everything that is wrong;
// there is no topology then. A topology without nodes is fine.
func Load(name string, data []byte, settings ...Setting) (*Topology, error) {
	return load(name, name, data, nil, settings)
}

// LoadFile loads the file at path with what it includes, which must lie in the file's folder or below it. It reads no
// more than a topology may have. Errors are those of [Load] and, for the file itself, those of reading it.
func LoadFile(path string, settings ...Setting) (*Topology, error) {
	file, err := os.Open(path)
	if err != nil {
		return nil, unreadable(path, err)
	}
	defer file.Close() // only read from: closing cannot lose anything
	dir, base := filepath.Split(path)
	from := &folder{path: filepath.Clean(dir), dir: dir}
	defer from.close()
	return read(file, path, base, from, settings)
}

// LoadFS is [LoadFile] for a file of a file system, such as one that is embedded in a program. What it includes may lie
// in the folder of that file or below.
func LoadFS(files fs.FS, name string, settings ...Setting) (*Topology, error) {
	file, err := files.Open(name)
	if err != nil {
		return nil, unreadable(name, err)
	}
	defer file.Close() // only read from: closing cannot lose anything
	dir := slash.Dir(name)
	below, err := fs.Sub(files, dir)
	if err != nil {
		return nil, fmt.Errorf("topology %w", err)
	}
	return read(file, name, slash.Base(name), &folder{files: below, dir: dir}, settings)
}

func read(r io.Reader, name, base string, from *folder, settings []Setting) (*Topology, error) {
	data, err := readAll(r, MaxSize)
	if err != nil && !errors.Is(err, errTooLarge) {
		return nil, unreadable(name, err)
	}
	return load(name, base, data, from, settings) // which says what is too large
}

// unreadable names the file as it was asked for, and not the call that failed.
func unreadable(name string, err error) error {
	return fmt.Errorf("topology %s: %w", name, reason(err))
}

// load puts the topology together, decodes and resolves it. Base is the name of its file in the folder.
func load(name, base string, data []byte, from *folder, settings []Setting) (*Topology, error) {
	p := newProblems(name)
	if p.root = p.parse(data); p.root == nil {
		return nil, p.err()
	}
	if !compose(p, base, len(data), from, settings) {
		return nil, p.err()
	}
	t := new(Topology)
	decode(p, p.root, t, nil)
	if len(p.list) < maxUnread {
		resolve(p, t)
	}
	if err := p.err(); err != nil {
		return nil, err
	}
	return t, nil
}

// compose makes one topology of its files and parameters. Where a step has errors it returns false, and the next ones
// are not taken: what they would find missing may just not have been read.
func compose(p *problems, base string, size int, from *folder, settings []Setting) bool {
	whole := &includes{
		problems: p, folder: from, room: MaxSize - size, files: map[string]bool{base: true}, chain: []inclusion{{path: base}},
	}
	before := len(p.list)
	if p.root = whole.whole(p.root); len(p.list) > before {
		return false
	}
	known := parameters(p, settings)
	if len(p.list) == before {
		substitute(p, p.root, known)
	}
	return len(p.list) == before
}

// decode fills into, a pointer, from what the file has at a place.
func decode(p *problems, node *yaml.Node, into any, at *path) {
	d := decoder{problems: p, records: records{}, items: new(int), bounds: bounds{most: maxText}}
	d.value(node, reflect.ValueOf(into).Elem(), at)
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
