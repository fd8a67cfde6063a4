package program

import (
	"archive/tar"
	"bytes"
	"encoding/binary"
	"errors"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/empty"
	"github.com/google/go-containerregistry/pkg/v1/mutate"
	"github.com/google/go-containerregistry/pkg/v1/static"
	"github.com/google/go-containerregistry/pkg/v1/types"
)

// program is a file that this machine would run: the beginning of one.
func program(t *testing.T, goos, arch string) []byte {
	t.Helper()
	b := make([]byte, 64)
	switch goos {
	case "linux":
		copy(b, "\x7fELF\x02\x01\x01")
		binary.LittleEndian.PutUint16(b[16:], 2)
		binary.LittleEndian.PutUint16(b[18:], map[string]uint16{"amd64": 62, "arm64": 183}[arch])
		binary.LittleEndian.PutUint32(b[20:], 1)
		binary.LittleEndian.PutUint16(b[52:], 64)
	case "darwin":
		binary.LittleEndian.PutUint32(b, 0xfeedfacf)
		binary.LittleEndian.PutUint32(b[4:], map[string]uint32{"amd64": 0x01000007, "arm64": 0x0100000c}[arch])
		binary.LittleEndian.PutUint32(b[12:], 2)
	default:
		t.Fatalf("no program for %s", goos)
	}
	return b
}

// native is a program for the platform that the tests ask for.
func native(t *testing.T) []byte { return program(t, "linux", "amd64") }

// options returns options with a new cache, and the same platform on all hosts.
func options(t *testing.T) Options {
	return Options{Cache: t.TempDir(), OS: "linux", Arch: "amd64"}
}

// layerOf is a tar of entries, as a layer.
func layerOf(t *testing.T, entries ...tar.Header) v1.Layer {
	t.Helper()
	return static.NewLayer(tarOf(t, entries...), types.DockerUncompressedLayer)
}

// tarOf writes entries; what a regular file holds is in its PAX record, for want of a place.
func tarOf(t *testing.T, entries ...tar.Header) []byte {
	t.Helper()
	var b bytes.Buffer
	w := tar.NewWriter(&b)
	for _, h := range entries {
		data := h.Gname
		h.Gname = ""
		if h.Typeflag == 0 {
			h.Typeflag = tar.TypeReg
		}
		if h.Typeflag == tar.TypeReg {
			h.Size = int64(len(data))
		}
		h.Mode = 0o755
		if err := w.WriteHeader(&h); err != nil {
			t.Fatal(err)
		}
		if _, err := w.Write([]byte(data)[:h.Size]); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

func file(name string, data []byte) tar.Header { return tar.Header{Name: name, Gname: string(data)} }

func link(name, to string) tar.Header {
	return tar.Header{Name: name, Typeflag: tar.TypeSymlink, Linkname: to}
}

// imageOf is an image for linux/amd64 whose entry point is given.
func imageOf(t *testing.T, entrypoint string, layers ...v1.Layer) v1.Image {
	t.Helper()
	img, err := mutate.AppendLayers(empty.Image, layers...)
	if err != nil {
		t.Fatal(err)
	}
	config, err := img.ConfigFile()
	if err != nil {
		t.Fatal(err)
	}
	config = config.DeepCopy()
	config.OS, config.Architecture = "linux", "amd64"
	if entrypoint != "" {
		config.Config.Entrypoint = strings.Fields(entrypoint)
	}
	config.Config.Labels = map[string]string{"org.opencontainers.image.version": "v9.9.9"}
	img, err = mutate.ConfigFile(img, config)
	if err != nil {
		t.Fatal(err)
	}
	return img
}

// resolve resolves what text says.
func resolve(t *testing.T, o Options, text string) (Program, error) {
	t.Helper()
	s, err := Parse(text)
	if err != nil {
		return Program{}, err
	}
	return s.Resolve(t.Context(), o)
}

// requireContent fails unless the file holds the data, can be run, and nothing unfinished is in the cache.
func requireContent(t *testing.T, o Options, path string, want []byte) {
	t.Helper()
	got, err := os.ReadFile(path)
	if err != nil || !bytes.Equal(got, want) {
		t.Errorf("%s: %q, %v, want %q", path, got, err, want)
	}
	if info, err := os.Stat(path); err != nil || runtime.GOOS != "windows" && info.Mode().Perm()&0o100 == 0 {
		t.Errorf("%s: %v, %v", path, info, err)
	}
	requireTidy(t, o)
}

func requireTidy(t *testing.T, o Options) {
	t.Helper()
	left, err := filepath.Glob(filepath.Join(o.Cache, "ccm", ".unfinished-*"))
	if err != nil || len(left) > 0 {
		t.Errorf("left behind: %v, %v", left, err)
	}
}

func writeTar(t *testing.T, name string, write func(io.Writer) error) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), name)
	f, err := os.Create(path)
	if err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(write(f), f.Close()); err != nil {
		t.Fatal(err)
	}
	return path
}

// Parse parses a source of a cloud controller manager.
func Parse(text string) (Source, error) { return CCM.Parse(text) }
