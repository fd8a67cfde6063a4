package program

import (
	"archive/tar"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path"
	"path/filepath"
	"strings"
	"sync/atomic"

	v1 "github.com/google/go-containerregistry/pkg/v1"

	"github.com/vsphere-sandbox/vsphere-sandbox/internal/coded"
)

// unpack returns the program of an image, from the cache when it is there and what it was.
func (o Options) unpack(ctx context.Context, v *progress, name string, img v1.Image) (Program, error) {
	id, err := img.ConfigName()
	if err != nil {
		return Program{}, err
	}
	config, err := img.ConfigFile()
	if err != nil {
		return Program{}, err
	}
	if config.OS != "" && config.Architecture != "" && (config.OS != o.OS || config.Architecture != o.Arch) {
		return Program{}, coded.New("wrong-platform", "", nil, "%s: is for %s/%s; this machine is %s/%s", name, config.OS, config.Architecture, o.OS, o.Arch)
	}
	dir := filepath.Join(o.Cache, o.product.facts().code, id.Algorithm+"-"+id.Hex)
	if p, ok := fromCache(dir); ok {
		return p, nil
	}
	scratch, done, err := o.scratch()
	if err != nil {
		return Program{}, err
	}
	defer done()
	t, err := o.spool(ctx, v, img, config.RootFS.DiffIDs, scratch)
	if err != nil {
		return Program{}, named(name, err)
	}
	file, e, err := t.program(o.product, config.Config)
	if err != nil {
		return Program{}, named(name, err)
	}
	v.now("unpacking %s (%s)", "/"+file, size(e.size))
	next := filepath.Join(scratch, "next")
	program := filepath.Join(next, path.Base(file))
	if err := extract(spoolFile(scratch, e.layer), e, program); err != nil {
		return Program{}, err
	}
	script, err := o.inspect(program, name+": /"+file)
	if err != nil {
		return Program{}, err
	}
	if script {
		return Program{}, coded.New("image-unusable", "", nil, "%s: /%s is a script, which needs the rest of its image", name, file)
	}
	k := kept{File: path.Base(file), Version: config.Config.Labels["org.opencontainers.image.version"]}
	if k.SHA256, err = digestOf(program); err != nil {
		return Program{}, err
	}
	note, err := json.Marshal(k)
	if err != nil {
		return Program{}, err
	}
	if err := os.WriteFile(filepath.Join(next, keptName), note, 0o600); err != nil {
		return Program{}, err
	}
	// Another process may have been faster, which is as good; what is there and damaged goes away.
	if err := os.Rename(next, dir); err != nil {
		if p, ok := fromCache(dir); ok {
			return p, nil
		}
		if err := errors.Join(os.RemoveAll(dir), os.Rename(next, dir)); err != nil {
			return Program{}, err
		}
	}
	p, ok := fromCache(dir)
	if !ok {
		return Program{}, fmt.Errorf("%s: what was written there is damaged", dir)
	}
	return p, nil
}

func named(name string, err error) error {
	if mine := (*coded.Error)(nil); errors.As(err, &mine) && !strings.HasPrefix(mine.Message, name) {
		mine.Message = name + ": " + mine.Message
	}
	return err
}

// scratch makes a folder beside the programs, on the same file system; done removes it.
func (o Options) scratch() (dir string, done func(), err error) {
	parent := filepath.Join(o.Cache, o.product.facts().code)
	if err := os.MkdirAll(parent, 0o755); err != nil {
		return "", nil, err
	}
	dir, err = os.MkdirTemp(parent, ".unfinished-")
	return dir, func() { _ = os.RemoveAll(dir) }, err
}

// extract writes one entry of a layer to a file that can be run.
func extract(layer string, e entry, to string) error {
	f, err := os.Open(layer)
	if err != nil {
		return err
	}
	defer f.Close()
	t := tar.NewReader(f)
	for range e.nth + 1 {
		if _, err := t.Next(); err != nil {
			return err
		}
	}
	return writeFile(to, t, 0o755)
}

// size writes a number of bytes for people.
func size(n int64) string {
	switch {
	case n >= 1<<30:
		return fmt.Sprintf("%.1f GiB", float64(n)/(1<<30))
	case n >= 1<<20:
		return fmt.Sprintf("%.0f MiB", float64(n)/(1<<20))
	}
	return fmt.Sprintf("%d B", n)
}

// program finds the program of an image: that of upstream's images, else what the image runs.
func (t *tree) program(of Product, c v1.Config) (string, entry, error) {
	looked := []string{"/bin/" + of.File()}
	for _, words := range [][]string{c.Entrypoint, c.Cmd} {
		if len(words) == 0 || words[0] == "" {
			continue
		}
		if strings.Contains(words[0], "/") {
			looked = append(looked, path.Join("/", c.WorkingDir, words[0]))
			if path.IsAbs(words[0]) {
				looked[len(looked)-1] = words[0]
			}
		} else {
			for _, dir := range searchPath(c.Env) {
				looked = append(looked, path.Join(dir, words[0]))
			}
		}
		break // a command is an argument of the entry point
	}
	for _, name := range looked {
		found, e, err := t.find(name)
		if err == nil {
			return found, e, nil
		}
		if !errors.Is(err, errNoFile) {
			return "", entry{}, coded.New("image-unusable", "", err, "%s", name)
		}
	}
	return "", entry{}, coded.New("image-unusable", "", nil, "has no %s: there is no %s", of.facts().long, strings.Join(looked, ", no "))
}

func searchPath(env []string) []string {
	for _, v := range env {
		if dirs, ok := strings.CutPrefix(v, "PATH="); ok {
			return strings.Split(dirs, ":")
		}
	}
	return []string{"/usr/local/sbin", "/usr/local/bin", "/usr/sbin", "/usr/bin", "/sbin", "/bin"}
}

func spoolFile(dir string, layer int) string {
	return filepath.Join(dir, fmt.Sprintf("layer-%d.tar", layer))
}

// spool writes the layers, unpacked, to files, checks each against its digest, and lays them on top of each other.
func (o Options) spool(ctx context.Context, v *progress, img v1.Image, want []v1.Hash, dir string) (*tree, error) {
	layers, err := img.Layers()
	if err != nil {
		return nil, err
	}
	if len(want) != len(layers) {
		return nil, coded.New("image-unusable", "", nil, "has %d layers, and its configuration names %d", len(layers), len(want))
	}
	t, left := &tree{}, o.Most
	for i, layer := range layers {
		var got atomic.Int64
		text := fmt.Sprintf("layer %d of %d", i+1, len(layers))
		v.now("%s", text)
		v.doing(func() string { return text + ": " + size(got.Load()) })
		open := func() (io.ReadCloser, error) { return unpacked(layer) }
		if _, asIs := img.(dockerImage); asIs {
			open = layer.Uncompressed
		}
		n, digest, err := spoolLayer(ctx, open, spoolFile(dir, i), left, &got)
		if err != nil {
			return nil, err
		}
		if left -= n; left < 0 {
			return nil, coded.New("image-unusable", "", nil, "is larger than %s, unpacked", size(o.Most))
		}
		if digest != want[i].Hex {
			return nil, coded.New("image-unusable", "", nil, "layer %d is not what its configuration says: damaged, or tampered with", i+1)
		}
		f, err := os.Open(spoolFile(dir, i))
		if err != nil {
			return nil, err
		}
		err = errors.Join(t.add(i, f), f.Close())
		if err != nil {
			return nil, err
		}
	}
	return t, nil
}

// spoolLayer writes at most one byte more than most.
func spoolLayer(ctx context.Context, open func() (io.ReadCloser, error), to string, most int64, got *atomic.Int64) (n int64, digest string, err error) {
	r, err := open()
	if err != nil {
		return 0, "", err
	}
	defer r.Close()
	f, err := os.OpenFile(to, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600)
	if err != nil {
		return 0, "", err
	}
	h := sha256.New()
	counted := readerFunc(func(p []byte) (int, error) {
		if err := ctx.Err(); err != nil {
			return 0, err
		}
		n, err := r.Read(p)
		got.Add(int64(n))
		return n, err
	})
	n, err = io.Copy(io.MultiWriter(f, h), io.LimitReader(counted, most+1))
	return n, hex.EncodeToString(h.Sum(nil)), errors.Join(err, f.Close())
}

type readerFunc func([]byte) (int, error)

// Read implements [io.Reader].
func (f readerFunc) Read(p []byte) (int, error) { return f(p) }

// mostEntries bounds the files of an image.
const mostEntries = 500_000

// mostWhiteouts bounds the files that layers take away from others, each of which is looked for among all.
const mostWhiteouts = 2_000

// tree is the file system that the layers of an image make up: names only, none of which reaches the disk.
type tree struct {
	entries map[string]entry // by clean path without the slash at its beginning
	count   int
	hidden  int // whiteouts
	names   int // bytes of all paths
}

// entry is one file of a layer.
type entry struct {
	layer int // of which it is the
	nth   int // entry, both from 0
	kind  byte
	link  string // what a symbolic or hard link names
	size  int64
}

// add lays a layer on top.
func (t *tree) add(layer int, r io.Reader) error {
	if t.entries == nil {
		t.entries = map[string]entry{}
	}
	whole := tar.NewReader(r)
	for nth := 0; ; nth++ {
		h, err := whole.Next()
		if err == io.EOF {
			return nil
		} else if err != nil {
			return err
		}
		if t.count++; t.count > mostEntries {
			return coded.New("image-unusable", "", nil, "has more than %d files", mostEntries)
		}
		if len(h.Name) > mostPath || len(h.Linkname) > mostPath {
			return coded.New("image-unusable", "", nil, "has a file with a path that is longer than %d bytes", mostPath)
		}
		if t.names += len(h.Name) + len(h.Linkname); t.names > mostPaths {
			return coded.New("image-unusable", "", nil, "has paths of more than %s in all", size(mostPaths))
		}
		name := clean(h.Name)
		if name == "" {
			continue
		}
		dir, base := path.Split(name)
		dir = strings.TrimSuffix(dir, "/")
		if hidden, ok := strings.CutPrefix(base, ".wh."); ok {
			if t.hidden++; t.hidden > mostWhiteouts {
				return coded.New("image-unusable", "", nil, "takes away more than %d files", mostWhiteouts)
			}
			if base == ".wh..wh..opq" {
				t.hide(dir, layer)
			} else {
				t.remove(path.Join(dir, hidden), layer)
			}
			continue
		}
		if old, exists := t.entries[name]; exists && old.kind == tar.TypeDir && h.Typeflag != tar.TypeDir {
			t.hide(name, layer+1)
		}
		t.entries[name] = entry{layer: layer, nth: nth, kind: h.Typeflag, link: h.Linkname, size: h.Size}
	}
}

// hide takes away what lower layers have below a folder.
func (t *tree) hide(dir string, layer int) {
	for name, e := range t.entries {
		if e.layer < layer && (dir == "" || strings.HasPrefix(name, dir+"/")) {
			delete(t.entries, name)
		}
	}
}

// remove takes away what lower layers have of that name, with all below it.
func (t *tree) remove(name string, layer int) {
	t.hide(name, layer)
	if e, ok := t.entries[name]; ok && e.layer < layer {
		delete(t.entries, name)
	}
}

// clean makes a name within the image of any: what climbs out of it stops at its root, as it does in a container.
func clean(name string) string { return strings.TrimPrefix(path.Clean("/"+name), "/") }

var errNoFile = errors.New("there is no such file")

// find returns the regular file of that name, through links; none of them leads out of the image.
func (t *tree) find(name string) (found string, e entry, err error) {
	rest, at := clean(name), ""
	for hops := 0; rest != ""; {
		var part string
		part, rest, _ = strings.Cut(rest, "/")
		here := path.Join(at, part)
		e, exists := t.entries[here]
		switch {
		case exists && e.kind == tar.TypeSymlink, exists && e.kind == tar.TypeLink:
			if hops++; hops > 40 {
				return "", entry{}, errors.New("its links go round in a circle")
			}
			target := e.link
			if e.kind == tar.TypeSymlink && !path.IsAbs(target) {
				target = path.Join("/"+at, target)
			}
			rest, at = path.Join(clean(target), rest), ""
		case rest != "":
			at = here // also a folder that no layer has an entry for
		case !exists:
			return "", entry{}, errNoFile
		case e.kind != tar.TypeReg:
			return "", entry{}, errors.New("it is no regular file")
		default:
			return here, e, nil
		}
	}
	return "", entry{}, errNoFile
}
