package image

import (
	"archive/tar"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"path"
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
