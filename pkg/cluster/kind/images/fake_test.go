package images

import (
	"archive/tar"
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"

	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/cluster/kind/runtime"
)

// docker answers the calls that a [Store] makes, as docker does, from what is in has.
type docker struct {
	t    *testing.T
	has  map[string]held // by name
	said []string        // the calls that changed something
	// wrongly has what it loads be another image.
	wrongly bool
}

// held is an image that it has.
type held struct {
	archive []byte // as docker save writes it
	layers  []string
}

func (d *docker) store() Store { return Store{Runtime: runtime.With("docker", d)} }

// Run implements [runtime.Runner].
func (d *docker) Run(ctx context.Context, c runtime.Call) error {
	fail := func(format string, args ...any) error {
		fmt.Fprintf(c.Stderr, format, args...)
		return &runtime.ExitError{Status: 1}
	}
	switch strings.Join(c.Args[:min(2, len(c.Args))], " ") {
	case "image inspect":
		var all []map[string]any
		for _, name := range c.Args[2:] {
			h, ok := d.has[name]
			if !ok {
				return fail("Error: No such image: %s", name)
			}
			all = append(all, map[string]any{
				"Id": "sha256:1", "RepoTags": []string{name}, "Os": "linux", "Architecture": "amd64", "Size": 7, "RootFS": map[string]any{"Layers": h.layers},
			})
		}
		return json.NewEncoder(c.Stdout).Encode(all)
	case "image ls":
		for name := range d.has {
			fmt.Fprintln(c.Stdout, name)
		}
		return nil
	}
	switch c.Args[0] {
	case "save":
		_, err := c.Stdout.Write(d.has[c.Args[1]].archive)
		return err
	case "load":
		d.said = append(d.said, "load")
		return d.load(c.Stdin)
	case "pull":
		return fail("Error response from daemon: no such host")
	}
	return fail("unexpected %q", c.Args)
}

func (d *docker) load(r io.Reader) error {
	files := map[string][]byte{}
	for t := tar.NewReader(r); ; {
		h, err := t.Next()
		if err == io.EOF {
			break
		} else if err != nil {
			return err
		}
		if files[h.Name], err = io.ReadAll(t); err != nil {
			return err
		}
	}
	var list []manifest
	if err := json.Unmarshal(files[manifestFile], &list); err != nil {
		return err
	}
	for _, m := range list {
		var layers []string
		for _, l := range m.Layers {
			content, ok := files[l]
			if !ok {
				return errors.New("no layer " + l)
			}
			layers = append(layers, digest(content))
		}
		if d.wrongly {
			layers = nil
		}
		d.has[m.RepoTags[0]] = held{layers: layers}
	}
	return nil
}

func digest(b []byte) string { return fmt.Sprintf("sha256:%x", sha256.Sum256(b)) }

// entry is a file of a tar, or with a link one that stands for another.
type entry struct {
	name, text, link string
}

func pack(t *testing.T, entries ...entry) []byte {
	t.Helper()
	var b bytes.Buffer
	w := tar.NewWriter(&b)
	for _, e := range entries {
		h := &tar.Header{Name: e.name, Mode: 0o644, Size: int64(len(e.text))}
		if e.link != "" {
			h.Typeflag, h.Linkname = tar.TypeSymlink, e.link
		}
		if err := w.WriteHeader(h); err != nil {
			t.Fatal(err)
		}
		if _, err := io.WriteString(w, e.text); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

// saved is an image of two layers as docker save writes it: its manifest is last, and a layer may be a link.
func saved(t *testing.T, name, text string) held {
	t.Helper()
	second := "second of " + name
	config := fmt.Sprintf(`{"architecture":"amd64","os":"linux","rootfs":{"type":"layers","diff_ids":[%q,%q]}}`, digest([]byte(text)), digest([]byte(second)))
	m, err := json.Marshal([]manifest{{Config: "c.json", RepoTags: []string{name}, Layers: []string{"a/layer.tar", "b/layer.tar"}}})
	if err != nil {
		t.Fatal(err)
	}
	archive := pack(t, entry{name: "x/layer.tar", text: text}, entry{name: "a/layer.tar", link: "../x/layer.tar"}, entry{name: "a/VERSION", text: "1.0"},
		entry{name: "b/layer.tar", text: second}, entry{name: "c.json", text: config}, entry{name: "repositories", text: "{}"}, entry{name: manifestFile, text: string(m)})
	return held{archive, []string{digest([]byte(text)), digest([]byte(second))}}
}
