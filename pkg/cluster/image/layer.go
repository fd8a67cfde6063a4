package image

import (
	"archive/tar"
	"bytes"
	"context"
	"crypto/sha256"
	"debug/elf"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"runtime"
	"slices"
	"strings"
	"time"
)

// layer is a layer of an image: a tar archive that is generated each time it is written.
type layer struct {
	files []file
	arch  string
	// digest is the SHA-256 of the archive, in hexadecimal, size its length.
	digest string
	size   int64
}

// file is one in a layer, of root's, which who runs the program can read and not write.
type file struct {
	name string // without the leading slash
	mode int64
	size int64
	open func() (io.ReadCloser, error)
}

// systemLayer has what a program expects of any system: names of users.
func systemLayer(arch string) (*layer, error) {
	l := &layer{arch: arch, files: []file{
		text("etc/group", "root:x:0:\nnonroot:x:65532:\n"),
		text("etc/nsswitch.conf", "hosts: files dns\n"),
		text("etc/passwd", "root:x:0:0:root:/:/sbin/nologin\nnonroot:x:65532:65532:nonroot:/:/sbin/nologin\n"),
	}}
	return l, l.hash(context.Background())
}

func text(name, of string) file { return content(name, 0o644, []byte(of)) }

// programLayer has one program, a file of this machine, under a name.
func programLayer(ctx context.Context, from, name string) (*layer, error) {
	arch, err := architecture(from)
	if err != nil {
		return nil, err
	}
	info, err := os.Stat(from)
	if err != nil {
		return nil, err
	}
	l := &layer{arch: arch, files: []file{{
		name: name, mode: 0o755, size: info.Size(),
		open: func() (io.ReadCloser, error) { return os.Open(from) },
	}}}
	return l, l.hash(ctx)
}

// hash sets digest and size.
func (l *layer) hash(ctx context.Context) error {
	sum := sha256.New()
	size, err := l.write(ctx, sum)
	if err != nil {
		return err
	}
	l.digest, l.size = hex.EncodeToString(sum.Sum(nil)), size
	return nil
}

// write writes the archive, the same bytes each time: every date in it is 1970. It returns how many they are.
func (l *layer) write(ctx context.Context, to io.Writer) (int64, error) {
	counted := &counter{to: to}
	w := tar.NewWriter(counted)
	seen := map[string]bool{}
	for _, f := range l.files {
		for _, dir := range folders(f.name) {
			if seen[dir] {
				continue
			}
			seen[dir] = true
			if err := w.WriteHeader(header(dir+"/", tar.TypeDir, 0o755, 0)); err != nil {
				return 0, err
			}
		}
		if err := f.write(ctx, w); err != nil {
			return 0, fmt.Errorf("image: %s: %w", f.name, err)
		}
	}
	err := w.Close()
	return counted.n, err
}

// write writes a file. One that has become another length since it was looked at is an error of the tar writer.
func (f file) write(ctx context.Context, w *tar.Writer) error {
	if err := w.WriteHeader(header(f.name, tar.TypeReg, f.mode, f.size)); err != nil {
		return err
	}
	from, err := f.open()
	if err != nil {
		return err
	}
	defer from.Close()
	_, err = io.Copy(w, ending{ctx, from})
	return err
}

func header(name string, kind byte, mode, size int64) *tar.Header {
	return &tar.Header{Typeflag: kind, Name: name, Mode: mode, Size: size, ModTime: time.Unix(0, 0), Format: tar.FormatUSTAR}
}

// folders are those that a file is in, the outermost first.
func folders(name string) []string {
	dir := path.Dir(name)
	if dir == "." {
		return nil
	}
	return append(folders(dir), dir)
}

// counter counts what passes.
type counter struct {
	to io.Writer
	n  int64
}

func (c *counter) Write(p []byte) (int, error) {
	n, err := c.to.Write(p)
	c.n += int64(n)
	return n, err
}

// ending is a reader that fails once ctx has ended.
type ending struct {
	ctx  context.Context
	from io.Reader
}

func (e ending) Read(p []byte) (int, error) {
	if err := e.ctx.Err(); err != nil {
		return 0, context.Cause(e.ctx)
	}
	return e.from.Read(p)
}

// contentHash returns twelve digits of a hash of an image's contents: enough to distinguish builds, and readable.
func contentHash(layers []*layer) string {
	var all bytes.Buffer
	for _, l := range layers {
		all.WriteString(l.digest)
	}
	sum := sha256.Sum256(all.Bytes())
	return hex.EncodeToString(sum[:6])
}

// architecture is what a program was built for, as images name it. The error says why a program cannot run in an image that
// has nothing but it.
func architecture(file string) (string, error) {
	f, err := elf.Open(file)
	if path := (*fs.PathError)(nil); errors.As(err, &path) {
		return "", fmt.Errorf("a program for an image: %w", err)
	}
	if err != nil {
		return "", fmt.Errorf("%s: pods run programs for Linux, and it is none (%w); this machine is %s: take the Linux build of this program",
			file, err, runtime.GOOS)
	}
	defer f.Close()
	for _, p := range f.Progs {
		if p.Type == elf.PT_INTERP {
			return "", fmt.Errorf("%s: it needs shared libraries, which an image of it alone has not; build it with CGO_ENABLED=0", file)
		}
	}
	switch f.Machine {
	case elf.EM_X86_64:
		return "amd64", nil
	case elf.EM_AARCH64:
		return "arm64", nil
	default:
		return "", fmt.Errorf("%s: a program for %v: amd64 and arm64 are known", file, f.Machine)
	}
}

// ToolsScript returns a shell script for a Linux system with glibc. It writes a tar of those programs that the system
// has, and the libraries that they need; links are resolved to files.
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
		return nil, errors.New("the tar archive has no files")
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

// Foreign is an image of another project's program.
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

// FromProgram returns an image of another project's program, with the given names: see [Foreign]. It sets no user, as
// many upstream images do not.
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
