package images

import (
	"archive/tar"
	"bytes"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/vsphere-sandbox/vsphere-sandbox/internal/coded"
)

// Registry serves the images of an archive as a registry, for nodes that always pull (imagePullPolicy: Always). Any
// client may pull and none may push. It is an [http.Handler]; call Close at the end.
type Registry struct {
	file *os.File
	// hosts are the registries in the images' names.
	hosts []string
	// blobs are by digest, manifests are digests by "host/repository:tag".
	blobs     map[string]blob
	manifests map[string]string
}

// blob is a part of the archive, or a text.
type blob struct {
	kind         string // media type
	offset, size int64
	text         []byte
}

// Media types of the OCI image specification.
const (
	manifestType = "application/vnd.oci.image.manifest.v1+json"
	configType   = "application/vnd.oci.image.config.v1+json"
	layerType    = "application/vnd.oci.image.layer.v1.tar"
)

// Registry opens the archive for serving. Images without a registry in their name are omitted: no node pulls them.
func (a *Archive) Registry() (_ *Registry, err error) {
	f, err := os.Open(a.path)
	if err != nil {
		return nil, fmt.Errorf("archive of images: %w", err)
	}
	r := &Registry{file: f, blobs: map[string]blob{}, manifests: map[string]string{}}
	defer func() {
		if err != nil {
			err = errors.Join(err, f.Close())
		}
	}()
	at, err := places(f)
	if err != nil {
		return nil, coded.New(Broken, "", cut(err), "%s has changed since it was checked", a.path)
	}
	digests := map[string]string{}
	for _, file := range a.contents.Files {
		digests[file.Path] = "sha256:" + file.SHA256
	}
	for _, item := range a.contents.Images {
		host, _, ok := strings.Cut(item.Name, "/")
		if !ok || !strings.ContainsAny(host, ".:") {
			continue
		}
		if !slices.Contains(r.hosts, host) {
			r.hosts = append(r.hosts, host)
		}
		if err := r.add(item, at, digests); err != nil {
			return nil, fmt.Errorf("image %s: %w", item.Name, err)
		}
	}
	return r, nil
}

// places returns the offsets of the files of a tar.
func places(f *os.File) (map[string]blob, error) {
	at := map[string]blob{}
	for t := tar.NewReader(f); ; {
		h, err := t.Next()
		if errors.Is(err, io.EOF) {
			return at, nil
		} else if err != nil {
			return nil, err
		}
		offset, err := f.Seek(0, io.SeekCurrent) // the reader has read up to the file's contents
		if err != nil {
			return nil, err
		}
		at[h.Name] = blob{offset: offset, size: h.Size}
	}
}

// add adds an image's manifest and its blobs.
func (r *Registry) add(item Item, at map[string]blob, digests map[string]string) error {
	type descriptor struct {
		MediaType string `json:"mediaType"`
		Digest    string `json:"digest"`
		Size      int64  `json:"size"`
	}
	var manifest struct {
		SchemaVersion int          `json:"schemaVersion"`
		MediaType     string       `json:"mediaType"`
		Config        descriptor   `json:"config"`
		Layers        []descriptor `json:"layers"`
	}
	manifest.SchemaVersion, manifest.MediaType = 2, manifestType
	for i, path := range append([]string{item.Config}, item.Blobs...) {
		b, digest := at[path], digests[path]
		b.kind = configType
		if i > 0 {
			head := &firstBytes{r: io.NewSectionReader(r.file, b.offset, b.size)}
			if _, err := io.ReadFull(head, make([]byte, min(4, b.size))); err != nil {
				return err
			}
			b.kind = layerType + head.suffix()
		}
		r.blobs[digest] = b
		d := descriptor{b.kind, digest, b.size}
		if i == 0 {
			manifest.Config = d
		} else {
			manifest.Layers = append(manifest.Layers, d)
		}
	}
	text, err := json.Marshal(manifest)
	if err != nil {
		return err
	}
	digest := fmt.Sprintf("sha256:%x", sha256.Sum256(text))
	r.blobs[digest] = blob{kind: manifestType, size: int64(len(text)), text: text}
	r.manifests[item.Name] = digest
	return nil
}

// suffix returns the suffix of a layer's media type.
func (f *firstBytes) suffix() string {
	switch {
	case !f.compressed():
		return ""
	case f.head[0] == 0x1f:
		return "+gzip"
	}
	return "+zstd"
}

// Hosts returns the registries that this one replaces, such as "registry.k8s.io".
func (r *Registry) Hosts() []string { return r.hosts }

// Close closes the archive. No request may be in flight.
func (r *Registry) Close() error { return r.file.Close() }

// ServeHTTP implements the pull API of a registry. Clients send the original registry in ns.
func (r *Registry) ServeHTTP(w http.ResponseWriter, q *http.Request) {
	if q.Method != http.MethodGet && q.Method != http.MethodHead {
		http.Error(w, "push is not supported", http.StatusMethodNotAllowed)
		return
	}
	rest, ok := strings.CutPrefix(q.URL.Path, "/v2/")
	if ok && rest == "" {
		return // the version check
	}
	repository, reference, of := strings.Cut(rest, "/manifests/")
	digest := reference
	if of && !strings.HasPrefix(reference, "sha256:") {
		digest = r.manifests[q.URL.Query().Get("ns")+"/"+repository+":"+reference]
	} else if !of {
		_, digest, of = strings.Cut(rest, "/blobs/")
	}
	b, exists := r.blobs[digest]
	if !ok || !of || !exists {
		http.NotFound(w, q)
		return
	}
	w.Header().Set("Content-Type", b.kind)
	w.Header().Set("Docker-Content-Digest", digest)
	content := io.ReadSeeker(io.NewSectionReader(r.file, b.offset, b.size))
	if b.text != nil {
		content = bytes.NewReader(b.text)
	}
	http.ServeContent(w, q, "", time.Time{}, content)
}
