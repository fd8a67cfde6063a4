package program

import (
	"archive/tar"
	"context"
	"io"
	"log"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/google/go-containerregistry/pkg/name"
	"github.com/google/go-containerregistry/pkg/registry"
	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/empty"
	"github.com/google/go-containerregistry/pkg/v1/mutate"
	"github.com/google/go-containerregistry/pkg/v1/remote"

	"github.com/vsphere-sandbox/vsphere-sandbox/internal/upstream/upstreamtest"
)

// host serves a registry and returns its address, and how many requests it got.
func host(t *testing.T) (string, *atomic.Int64) {
	t.Setenv("DOCKER_CONFIG", t.TempDir()) // no credentials of the user
	var calls atomic.Int64
	r := registry.New(registry.Logger(log.New(io.Discard, "", 0)))
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, q *http.Request) {
		calls.Add(1)
		r.ServeHTTP(w, q)
	}))
	t.Cleanup(s.Close)
	return strings.TrimPrefix(s.URL, "http://"), &calls
}

func push(t *testing.T, ref string, what remote.Taggable) {
	t.Helper()
	r, err := name.ParseReference(ref)
	if err != nil {
		t.Fatal(err)
	}
	switch what := what.(type) {
	case v1.Image:
		err = remote.Write(r, what)
	case v1.ImageIndex:
		err = remote.WriteIndex(r, what)
	}
	if err != nil {
		t.Fatal(err)
	}
}

func TestImage(t *testing.T) {
	at, _ := host(t)
	upstream := file("bin/"+CCM.File(), native(t))
	other := append(native(t), "other"...)
	for _, tc := range []struct {
		name, entrypoint string
		layers           []v1.Layer
		want             []byte
	}{
		{"upstream's", "", []v1.Layer{layerOf(t, upstream)}, native(t)},
		{"the entry point", "/app/ccm --v=2", []v1.Layer{layerOf(t, file("app/ccm", other))}, other},
		{"an entry point in PATH", "ccm", []v1.Layer{layerOf(t, file("usr/bin/ccm", other))}, other},
		{"a later layer's", "", []v1.Layer{layerOf(t, file("bin/"+CCM.File(), other)), layerOf(t, upstream)}, native(t)},
		{
			"links", "/go/ccm", []v1.Layer{layerOf(t, link("go", "../../usr/./lib")), layerOf(t, link("usr/lib/ccm", "/opt/ccm"), file("opt/ccm", other))}, other,
		},
		{"a hard link", "/a", []v1.Layer{layerOf(t, file("b", other), tar.Header{Name: "a", Typeflag: tar.TypeLink, Linkname: "b"})}, other},
		{"taken away and put back", "/ccm", []v1.Layer{layerOf(t, file("ccm", native(t))), layerOf(t, file(".wh.ccm", nil)), layerOf(t, file("ccm", other))}, other},
		{"odd names", "/ccm", []v1.Layer{layerOf(t, file("./../../ccm", other))}, other},
		{
			"beside devices", "/ccm", []v1.Layer{layerOf(t, tar.Header{Name: "dev/null", Typeflag: tar.TypeChar}, tar.Header{Name: "../../../pipe", Typeflag: tar.TypeFifo}, file("ccm", other))}, other,
		},
	} {
		t.Run(tc.name, func(t *testing.T) {
			o := options(t)
			var said []string
			o.Progress = func(s string) { said = append(said, s) }
			ref := at + "/ccm:" + strings.Map(func(r rune) rune { return map[bool]rune{true: r, false: '-'}[r >= 'a' && r <= 'z'] }, tc.name)
			img := imageOf(t, tc.entrypoint, tc.layers...)
			push(t, ref, img)
			p, err := resolve(t, o, "image:"+ref)
			if err != nil {
				t.Fatal(err)
			}
			requireContent(t, o, p.Path, tc.want)
			digest, err := img.Digest()
			if err != nil || p.Digest != digest.String() || p.Version != "v9.9.9" || p.Source != "image:"+ref {
				t.Errorf("%+v, %v", p, err)
			}
			if len(said) == 0 {
				t.Error("nothing was said")
			}
		})
	}
}

// What is in the cache is not downloaded again, unless it is not what it was.
func TestImageIsKept(t *testing.T) {
	at, calls := host(t)
	o := options(t)
	push(t, at+"/ccm:v1", imageOf(t, "", layerOf(t, file("bin/"+CCM.File(), native(t)))))
	first, err := resolve(t, o, "image:"+at+"/ccm:v1")
	if err != nil {
		t.Fatal(err)
	}
	before := calls.Load()
	if again, err := resolve(t, o, "image:"+at+"/ccm:v1"); err != nil || again != first {
		t.Errorf("%+v, %v, want %+v", again, err, first)
	}
	kept := calls.Load() - before
	if err := os.WriteFile(first.Path, []byte("tampered"), 0o755); err != nil {
		t.Fatal(err)
	}
	before = calls.Load()
	if again, err := resolve(t, o, "image:"+at+"/ccm:v1"); err != nil || again != first {
		t.Errorf("%+v, %v, want %+v", again, err, first)
	}
	requireContent(t, o, first.Path, native(t))
	if fresh := calls.Load() - before; kept >= fresh {
		t.Errorf("%d calls with the image in the cache, %d without", kept, fresh)
	}
}

func TestImagePlatform(t *testing.T) {
	at, _ := host(t)
	of := func(arch string, data []byte) mutate.IndexAddendum {
		return mutate.IndexAddendum{Add: imageOf(t, "", layerOf(t, file("bin/"+CCM.File(), data))), Descriptor: v1.Descriptor{Platform: &v1.Platform{OS: "linux", Architecture: arch}}}
	}
	push(t, at+"/ccm:both", mutate.AppendManifests(empty.Index, of("arm64", program(t, "linux", "arm64")), of("amd64", native(t))))
	push(t, at+"/ccm:arm", mutate.AppendManifests(empty.Index, of("arm64", program(t, "linux", "arm64")), of("s390x", nil)))
	o := options(t)
	p, err := resolve(t, o, "image:"+at+"/ccm:both")
	if err != nil {
		t.Fatal(err)
	}
	requireContent(t, o, p.Path, native(t))
	_, err = resolve(t, o, "image:"+at+"/ccm:arm")
	_ = upstreamtest.WantError(t, err, "ccm-wrong-platform", at+"/ccm:arm", "is for linux/arm64, linux/s390x; this machine is linux/amd64")
	o.OS, o.Arch = "darwin", "arm64"
	push(t, at+"/ccm:one", imageOf(t, "", layerOf(t, file("bin/"+CCM.File(), native(t)))))
	_, err = resolve(t, o, "image:"+at+"/ccm:one")
	_ = upstreamtest.WantError(t, err, "ccm-wrong-platform", "is for linux/amd64; this machine is darwin/arm64")
}

func TestUnusableImages(t *testing.T) {
	at, _ := host(t)
	for _, tc := range []struct {
		name, entrypoint string
		layers           []v1.Layer
		most             int64
		code, words      string
	}{
		{"none", "", []v1.Layer{layerOf(t, file("bin/sh", native(t)))}, 0, "ccm-image-unusable", "has no cloud controller manager: there is no /bin/" + CCM.File()},
		{"away", "/ccm", []v1.Layer{layerOf(t, file("ccm", native(t))), layerOf(t, file(".wh.ccm", nil))}, 0, "ccm-image-unusable", "no /ccm"},
		{"opaque", "/a/ccm", []v1.Layer{layerOf(t, file("a/ccm", native(t))), layerOf(t, file("a/.wh..wh..opq", nil))}, 0, "ccm-image-unusable", "no /a/ccm"},
		{"circle", "/ccm", []v1.Layer{layerOf(t, link("ccm", "b"), link("b", "ccm"))}, 0, "ccm-image-unusable", "circle"},
		{"out", "/ccm", []v1.Layer{layerOf(t, link("ccm", "../../../../etc/passwd"))}, 0, "ccm-image-unusable", "no /ccm"},
		{"device", "/ccm", []v1.Layer{layerOf(t, tar.Header{Name: "ccm", Typeflag: tar.TypeChar})}, 0, "ccm-image-unusable", "is no regular file"},
		{"folder", "/ccm", []v1.Layer{layerOf(t, tar.Header{Name: "ccm", Typeflag: tar.TypeDir})}, 0, "ccm-image-unusable", "is no regular file"},
		{"script", "/ccm", []v1.Layer{layerOf(t, file("ccm", []byte("#!/bin/sh\n")))}, 0, "ccm-image-unusable", "needs the rest of its image"},
		{"arm", "/ccm", []v1.Layer{layerOf(t, file("ccm", program(t, "linux", "arm64")))}, 0, "ccm-wrong-platform", "is for linux/arm64"},
		{"bomb", "/ccm", []v1.Layer{layerOf(t, file("zeros", make([]byte, 1<<20)), file("ccm", native(t)))}, 1 << 19, "ccm-image-unusable", "is larger than"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			o := options(t)
			o.Most = tc.most
			ref := at + "/bad:" + tc.name
			push(t, ref, imageOf(t, tc.entrypoint, tc.layers...))
			_, err := resolve(t, o, "image:"+ref)
			_ = upstreamtest.WantError(t, err, tc.code, tc.words, ref)
			requireTidy(t, o)
		})
	}
}

func TestRegistryThatRefuses(t *testing.T) {
	at, _ := host(t)
	closed, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	silent := closed.Addr().String()
	if err := closed.Close(); err != nil {
		t.Fatal(err)
	}
	answering := func(status int) string {
		s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if r.URL.Path == "/v2/" {
				return
			}
			w.WriteHeader(status)
		}))
		t.Cleanup(s.Close)
		return strings.TrimPrefix(s.URL, "http://")
	}
	for _, tc := range []struct{ ref, words string }{
		{at + "/ccm:none", "has no image of that name and tag"},
		{silent + "/ccm:v1", "connection refused by " + silent},
		{answering(401) + "/ccm:v1", "does not let us read it (401)"},
		{answering(403) + "/ccm:v1", "does not let us read it (403)"},
		{answering(500) + "/ccm:v1", "answers 500 Internal Server Error"},
	} {
		_, err := resolve(t, options(t), "image:"+tc.ref)
		_ = upstreamtest.WantError(t, err, "ccm-image-refused", tc.words, tc.ref)
	}
}

// A download can be given up at any time, and leaves nothing.
func TestImageCancelled(t *testing.T) {
	t.Setenv("DOCKER_CONFIG", t.TempDir())
	asked := make(chan struct{})
	s := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		close(asked)
		<-r.Context().Done()
	}))
	defer s.Close()
	ctx, cancel := context.WithCancel(t.Context())
	go func() { <-asked; cancel() }()
	o := options(t)
	source, err := Parse("image:" + strings.TrimPrefix(s.URL, "http://") + "/ccm:v1")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := source.Resolve(ctx, o); err != context.Canceled {
		t.Errorf("got %v", err)
	}
	if left, err := filepath.Glob(filepath.Join(o.Cache, "ccm", "*")); err != nil || len(left) > 0 {
		t.Errorf("left behind: %v, %v", left, err)
	}
}
