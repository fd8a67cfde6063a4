package program

import (
	"archive/tar"
	"compress/gzip"
	"errors"
	"io"
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-containerregistry/pkg/name"
	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/empty"
	"github.com/google/go-containerregistry/pkg/v1/layout"
	"github.com/google/go-containerregistry/pkg/v1/tarball"

	"github.com/vsphere-sandbox/vsphere-sandbox/internal/upstream/upstreamtest"
)

func saved(t *testing.T, img v1.Image) string {
	t.Helper()
	return writeTar(t, "saved.tar", func(w io.Writer) error { return tarball.Write(name.MustParseReference("ccm:v1"), img, w) })
}

func laidOut(t *testing.T, img v1.Image) string {
	t.Helper()
	dir := t.TempDir()
	l, err := layout.Write(dir, empty.Index)
	if err != nil {
		t.Fatal(err)
	}
	if err := l.AppendImage(img); err != nil {
		t.Fatal(err)
	}
	return dir
}

// tarred is a tar of a folder, and of what comes before it.
func tarred(t *testing.T, dir string, before ...tar.Header) string {
	t.Helper()
	return writeTar(t, "layout.tar", func(w io.Writer) error {
		if head := tarOf(t, before...); len(before) > 0 {
			if _, err := w.Write(head[:len(head)-1024]); err != nil { // without the end of a tar
				return err
			}
		}
		tw := tar.NewWriter(w)
		return errors.Join(tw.AddFS(os.DirFS(dir)), tw.Close())
	})
}

func TestArchive(t *testing.T) {
	img := imageOf(t, "/ccm", layerOf(t, file("ccm", native(t))))
	hostile := []tar.Header{
		{Name: "../../escaped", Gname: "x"},
		{Name: "/escaped", Gname: "x"},
		{Name: "blobs", Typeflag: tar.TypeSymlink, Linkname: "/"},
		{Name: "blobs/../../escaped", Gname: "x"},
	}
	dir := laidOut(t, img)
	docker := saved(t, img)
	zipped := writeTar(t, "saved.tar.gz", func(w io.Writer) error {
		b, err := os.ReadFile(docker)
		if err != nil {
			return err
		}
		z := gzip.NewWriter(w)
		_, err = z.Write(b)
		return errors.Join(err, z.Close())
	})
	id, err := img.ConfigName()
	if err != nil {
		t.Fatal(err)
	}
	for what, path := range map[string]string{
		"docker save": docker, "compressed": zipped, "OCI layout": dir, "OCI layout in a tar": tarred(t, dir), "hostile tar": tarred(t, dir, hostile...),
	} {
		t.Run(what, func(t *testing.T) {
			o := options(t)
			p, err := resolve(t, o, "archive:"+path)
			if err != nil {
				t.Fatal(err)
			}
			requireContent(t, o, p.Path, native(t))
			if p.Digest != id.String() || p.Version != "v9.9.9" {
				t.Errorf("%+v", p)
			}
			if all, err := os.ReadDir(filepath.Join(o.Cache, "ccm")); err != nil || len(all) != 1 {
				t.Errorf("in the cache: %v, %v", all, err)
			}
		})
	}
}

// However much of an archive there is, it is clear that there should be more.
func TestTruncatedArchives(t *testing.T) {
	img := imageOf(t, "/ccm", layerOf(t, file("ccm", native(t)), file("rest", make([]byte, 20_000))))
	for what, path := range map[string]string{"docker": saved(t, img), "oci": tarred(t, laidOut(t, img))} {
		whole, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		for cut := 0; cut < len(whole)-1024; cut += 700 {
			short := filepath.Join(t.TempDir(), what)
			if err := os.WriteFile(short, whole[:cut], 0o600); err != nil {
				t.Fatal(err)
			}
			o := options(t)
			_, err := resolve(t, o, "archive:"+short)
			if err == nil {
				if cut < len(whole)-2048 { // the padding of the last file
					t.Errorf("%s: %d of %d bytes are enough", what, cut, len(whole))
				}
				continue
			}
			_ = upstreamtest.WantError(t, err, "ccm-archive-broken", short)
			requireTidy(t, o)
		}
	}
}

func TestArchivesThatAreNone(t *testing.T) {
	img := imageOf(t, "/ccm", layerOf(t, file("ccm", native(t))))
	dir := laidOut(t, img)
	blobs, err := filepath.Glob(filepath.Join(dir, "blobs", "sha256", "*"))
	if err != nil {
		t.Fatal(err)
	}
	for _, b := range blobs { // every file of one byte more
		f, err := os.OpenFile(b, os.O_APPEND|os.O_WRONLY, 0)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := f.WriteString(" "); err != nil {
			t.Fatal(err)
		}
		f.Close()
	}
	two := writeTar(t, "two.tar", func(w io.Writer) error {
		return tarball.MultiWrite(map[name.Tag]v1.Image{
			name.MustParseReference("one:v1").(name.Tag): img, name.MustParseReference("two:v1").(name.Tag): imageOf(t, "/other", layerOf(t, file("other", nil))),
		}, w)
	})
	plain := func(w io.Writer) error { _, err := w.Write(tarOf(t, file("readme", []byte("x")))); return err }
	for _, tc := range []struct{ path, code, words string }{
		{filepath.Join(t.TempDir(), "none"), "ccm-missing", "there is no such file"},
		{t.TempDir(), "ccm-archive-broken", "no index.json"},
		{writeTar(t, "plain.tar", plain), "ccm-archive-broken", "neither index.json (OCI layout) nor manifest.json"},
		{writeTar(t, "text", func(w io.Writer) error { _, err := io.WriteString(w, "hello"); return err }), "ccm-archive-broken", "is no tar"},
		{two, "ccm-archive-broken", "has several images"},
		{dir, "ccm-image-unusable", "damaged"},
	} {
		_, err := resolve(t, options(t), "archive:"+tc.path)
		_ = upstreamtest.WantError(t, err, tc.code, tc.words, tc.path)
	}
}
