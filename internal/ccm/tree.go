package ccm

import (
	"archive/tar"
	"errors"
	"io"
	"path"
	"strings"

	"github.com/vsphere-sandbox/vsphere-sandbox/internal/coded"
)

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
			return coded.New("ccm-image-unusable", "", nil, "has more than %d files", mostEntries)
		}
		if len(h.Name) > mostPath || len(h.Linkname) > mostPath {
			return coded.New("ccm-image-unusable", "", nil, "has a file with a path that is longer than %d bytes", mostPath)
		}
		if t.names += len(h.Name) + len(h.Linkname); t.names > mostPaths {
			return coded.New("ccm-image-unusable", "", nil, "has paths of more than %s in all", size(mostPaths))
		}
		name := clean(h.Name)
		if name == "" {
			continue
		}
		dir, base := path.Split(name)
		dir = strings.TrimSuffix(dir, "/")
		if hidden, ok := strings.CutPrefix(base, ".wh."); ok {
			if t.hidden++; t.hidden > mostWhiteouts {
				return coded.New("ccm-image-unusable", "", nil, "takes away more than %d files", mostWhiteouts)
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
