package image

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
)

// Media types of the OCI image specification.
const (
	indexType    = "application/vnd.oci.image.index.v1+json"
	manifestType = "application/vnd.oci.image.manifest.v1+json"
	configType   = "application/vnd.oci.image.config.v1+json"
	layerType    = "application/vnd.oci.image.layer.v1.tar"
)

// made is one image.
type made struct {
	names      []string
	layers     []*layer
	entrypoint []string
	user       string // "" when it says nothing
	path       string // where programs are looked for; "" is /
}

// blob is content that is known by its hash.
type blob struct {
	data []byte
}

func (b blob) digest() string {
	sum := sha256.Sum256(b.data)
	return hex.EncodeToString(sum[:])
}

type descriptor struct {
	MediaType   string            `json:"mediaType"`
	Digest      string            `json:"digest"`
	Size        int64             `json:"size"`
	Annotations map[string]string `json:"annotations,omitempty"`
	Platform    map[string]string `json:"platform,omitempty"`
}

func (b blob) descriptor(mediaType string) descriptor {
	return descriptor{MediaType: mediaType, Digest: "sha256:" + b.digest(), Size: int64(len(b.data))}
}

// config is the image's configuration. Its date is 1970: the same programs are the same image.
func (m *made) config() (blob, error) {
	const epoch = "1970-01-01T00:00:00Z"
	container := map[string]any{"Entrypoint": m.entrypoint, "Env": []string{"PATH=" + cmp.Or(m.path, "/")}, "WorkingDir": "/"}
	if m.user != "" {
		container["User"] = m.user
	}
	diffs := make([]string, len(m.layers))
	history := make([]map[string]string, len(m.layers))
	for i, l := range m.layers {
		diffs[i] = "sha256:" + l.digest
		history[i] = map[string]string{"created": epoch, "created_by": "vsphere-sandbox: " + l.files[0].name}
	}
	data, err := json.Marshal(map[string]any{
		"architecture": m.layers[0].arch, "os": "linux", "created": epoch, "config": container,
		"rootfs": map[string]any{"type": "layers", "diff_ids": diffs}, "history": history,
	})
	return blob{data}, err
}

// manifest is the image's manifest.
func (m *made) manifest(config blob) (blob, error) {
	layers := make([]descriptor, len(m.layers))
	for i, l := range m.layers {
		layers[i] = descriptor{MediaType: layerType, Digest: "sha256:" + l.digest, Size: l.size}
	}
	data, err := json.Marshal(map[string]any{
		"schemaVersion": 2, "mediaType": manifestType, "config": config.descriptor(configType), "layers": layers,
	})
	return blob{data}, err
}
