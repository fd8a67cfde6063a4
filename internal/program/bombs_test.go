package program

import (
	"archive/tar"
	"compress/gzip"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/google/go-containerregistry/pkg/v1/static"
	"github.com/google/go-containerregistry/pkg/v1/types"

	"github.com/vsphere-sandbox/vsphere-sandbox/internal/race"
)

// part is a file of a tar that is made as it is written.
type part struct {
	tar.Header
	head string // and then spaces, as many as its size says
}

// pack writes a tar, compressed: of gigabytes a few kilobytes are left.
func pack(t *testing.T, parts ...part) string {
	t.Helper()
	return writeTar(t, "bomb.tar.gz", func(w io.Writer) error {
		z, err := gzip.NewWriterLevel(w, gzip.BestSpeed)
		if err != nil {
			return err
		}
		tw := tar.NewWriter(z)
		for _, p := range parts {
			h := p.Header
			h.Size = max(h.Size, int64(len(p.head)))
			if h.Typeflag == 0 {
				h.Typeflag = tar.TypeReg
			}
			if h.Typeflag != tar.TypeReg {
				h.Size = 0
			}
			if err := tw.WriteHeader(&h); err != nil {
				return err
			}
			if h.Size == 0 {
				continue
			}
			if _, err := io.Copy(tw, io.LimitReader(io.MultiReader(strings.NewReader(p.head), spaces{}), h.Size)); err != nil {
				return err
			}
		}
		return errors.Join(tw.Close(), z.Close())
	})
}

type spaces struct{}

func (spaces) Read(p []byte) (int, error) {
	for i := range p {
		p[i] = ' '
	}
	return len(p), nil
}

const (
	huge   = 256 << 20
	most   = 1 << 20 // of the layers, in these tests
	digest = "sha256:aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa"
	hexOf  = "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa"
)

func dockerManifest(layers int) string {
	m := []map[string]any{{"Config": "config.json", "Layers": []string{}}}
	for i := range layers {
		m[0]["Layers"] = append(m[0]["Layers"].([]string), fmt.Sprintf("%d/layer.tar", i))
	}
	text, err := json.Marshal(m)
	if err != nil {
		panic(err) // plain data always can be
	}
	return string(text)
}

func regular(name, text string) part { return part{Header: tar.Header{Name: name}, head: text} }
func large(name, text string, size int64) part {
	return part{Header: tar.Header{Name: name, Size: size}, head: text}
}

func symlink(name, to string) part {
	return part{Header: tar.Header{Name: name, Typeflag: tar.TypeSymlink, Linkname: to}}
}

// index is an OCI index that names one manifest of that size.
func index(size int64) string {
	return fmt.Sprintf(`{"schemaVersion":2,"manifests":[{"mediaType":"application/vnd.oci.image.manifest.v1+json","digest":%q,"size":%d}]}`, digest, size)
}

// Any large part of an archive, however often and however small on disk, is rejected with a clear error, without using
// memory.
func TestBombs(t *testing.T) {
	race.SkipSlow(t)
	many := []part{regular("manifest.json", "[]")}
	for i := range mostFiles {
		many = append(many, regular(fmt.Sprint(i), ""))
	}
	sparse := func(t *testing.T) string { // a folder with a file of a terabyte that is none on disk
		dir := t.TempDir()
		f, err := os.Create(filepath.Join(dir, "index.json"))
		if err != nil {
			t.Fatal(err)
		}
		if err := errors.Join(f.Truncate(1<<40), f.Close()); err != nil {
			t.Fatal(err)
		}
		return dir
	}
	layout := func(parts ...part) []part {
		return append([]part{regular("oci-layout", `{"imageLayoutVersion":"1.0.0"}`)}, parts...)
	}
	for name, tc := range map[string]struct {
		parts []part
		path  func(*testing.T) string
		most  int64
		want  string
	}{
		"a manifest":                    {parts: []part{large("manifest.json", dockerManifest(1), huge)}, want: "the manifest is longer than 4 MiB"},
		"a manifest of 4 MiB and a bit": {parts: []part{large("manifest.json", dockerManifest(1), mostDescription+1)}, want: "the manifest is longer than 4 MiB"},
		"a configuration":               {parts: []part{regular("manifest.json", dockerManifest(1)), large("config.json", "{}", huge)}, want: "the configuration is longer than 4 MiB"},
		"a manifest that is a link":     {parts: []part{symlink("manifest.json", "layer"), large("layer", dockerManifest(1), huge)}, want: "manifest is no regular file"},
		"a configuration that is one":   {parts: []part{regular("manifest.json", dockerManifest(1)), symlink("config.json", "layer"), large("layer", "{}", huge)}, want: "configuration is no regular file"},
		"links that go round":           {parts: []part{regular("manifest.json", dockerManifest(1)), regular("config.json", "{}"), symlink("0/layer.tar", "1"), symlink("0/1", "layer.tar")}, want: "layer 1 is not there"},
		"layers":                        {parts: []part{regular("manifest.json", dockerManifest(129)), regular("config.json", "{}")}, want: "has 129 layers, more than 128"},
		"a layer of zstd":               {parts: []part{regular("manifest.json", dockerManifest(1)), regular("config.json", "{}"), regular("0/layer.tar", "\x28\xb5\x2f\xfd\x00\xa0")}, want: "layer 1 is compressed with zstd"},
		"files":                         {parts: many, want: "has more than 10000 files"},
		"a path":                        {parts: []part{regular(strings.Repeat("x/", mostPath)+"x", "")}, want: "has a file with a path that is longer than 4096 bytes"},
		"an index":                      {parts: layout(large("index.json", index(1), mostDescription+1)), most: huge, want: "the index is longer than 4 MiB"},
		"a manifest of a layout": {
			parts: layout(regular("index.json", index(1)), large("blobs/sha256/"+hexOf, "{}", mostDescription+1)), most: huge, want: "the manifest is longer than 4 MiB",
		},
		"a configuration of a layout": {
			parts: layout(regular("index.json", index(1)), regular("blobs/sha256/"+hexOf, `{"schemaVersion":2,"config":{"digest":"`+digest+`","size":99999999},"layers":[]}`)),
			most:  huge, want: "the configuration is longer than 4 MiB",
		},
		"a layout":           {parts: layout(large("index.json", index(1), huge)), want: "what it unpacks to is longer than 65 MiB"},
		"what is beside it":  {parts: []part{large("junk", "", huge), regular("manifest.json", dockerManifest(1))}, want: "what it unpacks to is longer than 65 MiB"},
		"an index of a file": {path: sparse, want: "the index is longer than 4 MiB"},
		"no file":            {path: func(*testing.T) string { return "/dev/zero" }, want: "is no file and no folder"},
	} {
		t.Run(name, func(t *testing.T) {
			path := ""
			if tc.path != nil {
				path = tc.path(t)
			} else {
				path = pack(t, tc.parts...)
			}
			o := options(t)
			if o.Most = most; tc.most > 0 {
				o.Most = tc.most
			}
			if strings.Contains(name, "manifest") || strings.Contains(name, "configuration") {
				o.Most = 1 << 30 // so that it is not the whole that is too large
			}
			before := allocated()
			_, err := resolve(t, o, "archive:"+path)
			if err == nil || !strings.Contains(err.Error(), tc.want) || !strings.Contains(err.Error(), path) {
				t.Errorf("%v, want %q", err, tc.want)
			}
			if took := allocated() - before; took > 48<<20 {
				t.Errorf("took %d MiB", took>>20)
			}
			if left, err := filepath.Glob(filepath.Join(o.Cache, "ccm", ".unfinished-*")); len(left) > 0 || err != nil {
				t.Errorf("left %q, %v", left, err)
			}
		})
	}
}

// A stream of zstd that refers back to half a gigabyte is refused before that is allocated: the header says it, in six bytes.
func TestZstdWindow(t *testing.T) {
	frame := []byte{0x28, 0xb5, 0x2f, 0xfd, 0x00, 19 << 3, 0x01, 0x00, 0x00}
	img := imageOf(t, "/ccm", static.NewLayer(frame, types.OCILayerZStd))
	before := allocated()
	if _, err := resolve(t, options(t), "archive:"+laidOut(t, img)); err == nil || !strings.Contains(err.Error(), "window size exceeded") {
		t.Error(err)
	}
	if took := allocated() - before; took > 48<<20 {
		t.Errorf("took %d MiB", took>>20)
	}
}

// An archive that takes too long, or whose context has ended, stops in the middle of a file.
func TestArchiveEndsWithItsContext(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	path := pack(t, large("junk", "", 32<<20))
	r, err := Options{Most: 1 << 30}.openTar(ctx, path)
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	if _, err := io.CopyN(io.Discard, r, 1<<20); err != nil {
		t.Fatal(err)
	}
	cancel()
	if _, err := io.Copy(io.Discard, r); !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
}

func allocated() uint64 {
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return m.TotalAlloc
}
