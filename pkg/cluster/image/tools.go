package image

import (
	"archive/tar"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"path"
	"slices"
	"strings"
)

// ToolsScript is a script for the shell of a Linux system with glibc: it writes a tar with those of these programs that the
// system has, and the libraries that they need, each a file of its own where the system has links.
func ToolsScript(programs ...string) string {
	return `for tool in ` + strings.Join(programs, " ") + `; do
	at=$(command -v $tool) || continue
	echo $at
	ldd $at 2>/dev/null | grep -o '/[^ ]*' || :
done | sort -u | tar -chf - -C / -T - 2>/dev/null`
}

// toolsLayer has the files of a tar, none of which is anybody's but root's.
func toolsLayer(ctx context.Context, arch string, archive []byte) (*layer, error) {
	l := &layer{arch: arch}
	seen := map[string]bool{}
	for t := tar.NewReader(bytes.NewReader(archive)); ; {
		h, err := t.Next()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return nil, err
		}
		name := strings.TrimPrefix(path.Clean("/"+h.Name), "/")
		if seen[name] {
			continue
		}
		seen[name] = true
		switch h.Typeflag {
		case tar.TypeReg:
			data, err := io.ReadAll(t)
			if err != nil {
				return nil, err
			}
			l.files = append(l.files, content(name, h.Mode&0o777, data))
		case tar.TypeLink: // another name of a file that came before
			was, ok := l.find(strings.TrimPrefix(path.Clean("/"+h.Linkname), "/"))
			if !ok {
				return nil, fmt.Errorf("%s is a link to %s, which is not there", h.Name, h.Linkname)
			}
			was.name = name
			l.files = append(l.files, was)
		}
	}
	if len(l.files) == 0 {
		return nil, errors.New("there are none")
	}
	return l, l.hash(ctx)
}

func (l *layer) find(name string) (file, bool) {
	for _, f := range l.files {
		if f.name == name {
			return f, true
		}
	}
	return file{}, false
}

func content(name string, mode int64, data []byte) file {
	return file{name: name, mode: mode, size: int64(len(data)), open: func() (io.ReadCloser, error) {
		return io.NopCloser(bytes.NewReader(data)), nil
	}}
}

// Foreign is an image of a program of somebody else.
type Foreign struct {
	// File is the program, At the path that it has in the image (absolute: "/bin/program"), which is also what the image runs.
	File, At string
	// Names are what the image is called: "registry.example.net/name:tag".
	Names []string
	// Tools is a tar with other programs that this one runs, and what those need; nil for none. See [ToolsScript].
	Tools []byte
}

// toolsPath is where a program finds its tools.
const toolsPath = "/usr/sbin:/usr/bin:/sbin:/bin"

// FromProgram is one image, under the given names, of a program of somebody else: see [Foreign]. The user is up to who runs
// it, as in images that say nothing of it.
func FromProgram(ctx context.Context, file, at string, names ...string) (*Set, error) {
	return FromPrograms(ctx, Foreign{File: file, At: at, Names: names})
}

// FromPrograms is an image for each program.
func FromPrograms(ctx context.Context, all ...Foreign) (*Set, error) {
	var images []*made
	for _, f := range all {
		m, err := f.image(ctx)
		if err != nil {
			return nil, err
		}
		images = append(images, m)
	}
	return newSet(images), nil
}

func (f Foreign) image(ctx context.Context) (*made, error) {
	if len(f.At) < 2 || f.At[0] != '/' || len(f.Names) == 0 {
		return nil, fmt.Errorf("an image of %s: a path in the image that begins with / and a name are needed, not %q and %q", f.File, f.At, f.Names)
	}
	if i := slices.IndexFunc(f.Names, func(n string) bool { return !complete(n) }); i >= 0 {
		return nil, fmt.Errorf("an image of %s: %q is no name with registry and tag, like registry.example.net/name:v1", f.File, f.Names[i])
	}
	program, err := programLayer(ctx, f.File, f.At[1:])
	if err != nil {
		return nil, err
	}
	system, err := systemLayer(program.arch)
	if err != nil {
		return nil, err
	}
	m := &made{names: f.Names, layers: []*layer{system, program}, entrypoint: []string{f.At}}
	if f.Tools != nil {
		tools, err := toolsLayer(ctx, program.arch, f.Tools)
		if err != nil {
			return nil, fmt.Errorf("tools for an image of %s: %w", f.File, err)
		}
		m.layers, m.path = []*layer{system, tools, program}, toolsPath
	}
	return m, nil
}
