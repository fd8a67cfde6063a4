package topology

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	slash "path"
	"path/filepath"

	"github.com/vsphere-sandbox/vsphere-sandbox/internal/input"
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
	data, err := input.File(path, MaxSize)
	if err != nil && !tooLarge(err) {
		return nil, unreadable(path, err)
	}
	dir, base := filepath.Split(path)
	from := &folder{path: filepath.Clean(dir), dir: dir}
	defer from.close()
	if err != nil {
		return nil, tooLong(path)
	}
	return load(path, base, data, from, settings)
}

// LoadBelow is [LoadFile] for a file that another one names: name is relative to dir, the folder of that other file, and is
// refused when it leads out of it, be it absolute, by .. or by a symbolic link, with nothing read. Names have slashes on
// every system.
func LoadBelow(dir, name string, settings ...Setting) (*Topology, error) {
	if complaint := outside(name, name, "this file's own folder"); complaint != "" {
		return nil, errors.New(complaint)
	}
	root, err := os.OpenRoot(dir)
	if err != nil {
		return nil, unreadable(dir, err)
	}
	defer root.Close() // only read from: closing cannot lose anything
	below, err := root.OpenRoot(slash.Dir(slash.Clean(name)))
	if err != nil {
		return nil, unreadable(name, err)
	}
	from := &folder{files: below.FS(), root: below, dir: filepath.Join(dir, filepath.FromSlash(slash.Dir(name)))}
	defer from.close()
	base := slash.Base(name)
	data, err := from.read(base, MaxSize)
	switch {
	case tooLarge(err):
		return nil, tooLong(from.name(base))
	case err != nil:
		return nil, unreadable(from.name(base), err)
	}
	return load(from.name(base), base, data, from, settings)
}

// LoadFS is [LoadFile] for a file of a file system, such as one that is embedded in a program. What it includes may lie
// in the folder of that file or below.
func LoadFS(files fs.FS, name string, settings ...Setting) (*Topology, error) {
	dir := slash.Dir(name)
	below, err := fs.Sub(files, dir)
	if err != nil {
		return nil, fmt.Errorf("topology %w", err)
	}
	from := &folder{files: below, dir: dir}
	data, err := from.read(slash.Base(name), MaxSize)
	switch {
	case tooLarge(err):
		return nil, tooLong(name)
	case err != nil:
		return nil, unreadable(name, err)
	}
	return load(name, slash.Base(name), data, from, settings)
}

// tooLong is the error for a file of which no more is read than a topology may have.
func tooLong(name string) error {
	p := newProblems(name)
	p.TooLong()
	return p.err()
}

// unreadable names the file as it was asked for, and not the call that failed.
func unreadable(name string, err error) error {
	return fmt.Errorf("topology %s: %w", name, input.Plain(err))
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
	if p.Len() < maxUnread {
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
	before := p.Len()
	if p.root = whole.whole(p.root); p.Len() > before {
		return false
	}
	known := parameters(p, settings)
	if p.Len() == before {
		substitute(p, known)
	}
	return p.Len() == before
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
