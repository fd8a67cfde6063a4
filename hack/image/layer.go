package main

import (
	"archive/tar"
	"bytes"
	"io"
	"os"
	"path"
	"time"

	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/tarball"
	"github.com/google/go-containerregistry/pkg/v1/types"
)

// user is whom programs run as: a number that no node has, as in other images without a distribution.
const user = "65532:65532"

const rootsFile = "etc/ssl/certs/ca-certificates.crt"

// file is one in a layer, of root's, which who runs the program can read and not write.
type file struct {
	name string
	data []byte
	exec bool
}

// systemFiles are what a program expects of any system.
func systemFiles() []file {
	return []file{
		{name: "etc/group", data: []byte("root:x:0:\nnonroot:x:65532:\n")},
		{name: "etc/nsswitch.conf", data: []byte("hosts: files dns\n")},
		{name: "etc/passwd", data: []byte("root:x:0:0:root:/:/sbin/nologin\nnonroot:x:65532:65532:nonroot:/:/sbin/nologin\n")},
		{name: rootsFile, data: roots()},
	}
}

// layer makes one of files, whose folders come before them. Every time in it is 1970.
func layer(files []file) (v1.Layer, error) {
	var b bytes.Buffer
	w := tar.NewWriter(&b)
	seen := map[string]bool{".": true}
	for _, f := range files {
		for _, dir := range folders(f.name) {
			if seen[dir] {
				continue
			}
			seen[dir] = true
			if err := w.WriteHeader(header(dir+"/", tar.TypeDir, 0o755, 0)); err != nil {
				return nil, err
			}
		}
		mode := int64(0o644)
		if f.exec {
			mode = 0o755
		}
		if err := w.WriteHeader(header(f.name, tar.TypeReg, mode, int64(len(f.data)))); err != nil {
			return nil, err
		}
		if _, err := w.Write(f.data); err != nil {
			return nil, err
		}
	}
	if err := w.Close(); err != nil {
		return nil, err
	}
	return tarball.LayerFromOpener(func() (io.ReadCloser, error) { return io.NopCloser(bytes.NewReader(b.Bytes())), nil },
		tarball.WithMediaType(types.OCILayer), tarball.WithCompressedCaching)
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

// binaryLayer is a program's.
func binaryLayer(p program, binary string) (v1.Layer, error) {
	data, err := os.ReadFile(binary)
	if err != nil {
		return nil, err
	}
	return layer([]file{{name: p.name, data: data, exec: true}})
}
