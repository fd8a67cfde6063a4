package main

import (
	"archive/tar"
	"bytes"
	"cmp"
	"context"
	"encoding/pem"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"time"

	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/tarball"
	"github.com/google/go-containerregistry/pkg/v1/types"
	"golang.org/x/crypto/x509roots/fallback/bundle"
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

// roots returns the certificate authorities that browsers trust as PEM: Mozilla's list, from the Go project's module. It
// omits those that Mozilla trusts for some certificates only, since PEM cannot express that. The authority of a vCenter
// with a private one is in the user's configuration.
func roots() []byte {
	var b bytes.Buffer
	for root := range bundle.Roots() {
		if root.Constraint == nil {
			// A bytes.Buffer takes everything.
			_ = pem.Encode(&b, &pem.Block{Type: "CERTIFICATE", Bytes: root.Certificate})
		}
	}
	return b.Bytes()
}

// stamp is what an image says of its origin.
type stamp struct {
	// source is the repository's address.
	source string
	// version and revision are git's; "unknown" outside of a repository.
	version, revision string
	// kubernetes is the linked release, "v1.36.4", or "".
	kubernetes string
	// created is SOURCE_DATE_EPOCH or else the commit's time; 1970 outside of a repository.
	created time.Time
}

func readStamp(ctx context.Context, o *options) (stamp, error) {
	gomod, err := os.ReadFile(filepath.Join(o.root, "go.mod"))
	if err != nil {
		return stamp{}, err
	}
	s := stamp{
		source:     "https://" + word(gomod, "module"),
		kubernetes: strings.Replace(word(gomod, "k8s.io/component-base"), "v0.", "v1.", 1),
		version:    cmp.Or(o.version, git(ctx, o.root, "describe", "--tags", "--always", "--dirty"), "unknown"),
		revision:   cmp.Or(o.revision, git(ctx, o.root, "rev-parse", "HEAD"), "unknown"),
	}
	epoch := cmp.Or(os.Getenv("SOURCE_DATE_EPOCH"), git(ctx, o.root, "log", "-1", "--format=%ct"), "0")
	seconds, err := strconv.ParseInt(epoch, 10, 64)
	if err != nil {
		return stamp{}, fmt.Errorf("SOURCE_DATE_EPOCH=%s: seconds since 1970 are needed", epoch)
	}
	s.created = time.Unix(seconds, 0).UTC()
	return s, nil
}

// ldflags are the linker's that make a program say its version: that of the Kubernetes libraries, which they compare
// feature gates with, and its own after it.
func (s stamp) ldflags() string {
	if s.kubernetes == "" {
		return ""
	}
	// What follows the plus is letters, digits, dots and hyphens.
	own := regexp.MustCompile(`[^0-9A-Za-z.-]`).ReplaceAllString(s.version, "-")
	return " -X k8s.io/component-base/version.gitVersion=" + s.kubernetes + "+" + own
}

// labels are the image's annotations, and its configuration's labels: OCI's names for them.
func (s stamp) labels(p program) map[string]string {
	all := map[string]string{
		"org.opencontainers.image.title":    p.title,
		"org.opencontainers.image.source":   s.source,
		"org.opencontainers.image.version":  s.version,
		"org.opencontainers.image.revision": s.revision,
		"org.opencontainers.image.created":  s.created.Format(time.RFC3339),
		"org.opencontainers.image.licenses": "Apache-2.0",
	}
	if p.description != "" {
		all["org.opencontainers.image.description"] = p.description
	}
	return all
}

// git returns what git says, "" when it says nothing or this is no repository.
func git(ctx context.Context, dir string, args ...string) string {
	out, err := exec.CommandContext(ctx, "git", append([]string{"-C", dir}, args...)...).Output()
	if err != nil {
		return ""
	}
	return string(bytes.TrimSpace(out))
}

// word returns what follows a word that stands first on a line of go.mod.
func word(gomod []byte, first string) string {
	for line := range strings.Lines(string(gomod)) {
		if fields := strings.Fields(line); len(fields) > 1 && fields[0] == first {
			return fields[1]
		}
	}
	return ""
}
