package main

import (
	"context"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"path/filepath"
)

// The types of what is in a layout, as OCI's image specification has them.
const (
	indexType    = "application/vnd.oci.image.index.v1+json"
	manifestType = "application/vnd.oci.image.manifest.v1+json"
	configType   = "application/vnd.oci.image.config.v1+json"
	layerType    = "application/vnd.oci.image.layer.v1.tar+zstd"
)

// descriptor names a content of a layout.
type descriptor struct {
	MediaType   string            `json:"mediaType"`
	Digest      string            `json:"digest"`
	Size        int64             `json:"size"`
	Annotations map[string]string `json:"annotations,omitempty"`
}

// config is what an image says of itself, in the words that OCI and Docker share.
type config struct {
	Architecture string `json:"architecture"`
	OS           string `json:"os"`
	Config       struct {
		User       string            `json:"User,omitempty"`
		Env        []string          `json:"Env,omitempty"`
		Entrypoint []string          `json:"Entrypoint,omitempty"`
		Cmd        []string          `json:"Cmd,omitempty"`
		StopSignal string            `json:"StopSignal,omitempty"`
		Labels     map[string]string `json:"Labels,omitempty"`
	} `json:"config"`
	RootFS struct {
		Type    string   `json:"type"`
		DiffIDs []string `json:"diff_ids"`
	} `json:"rootfs"`
}

// newConfig is an image's of one layer.
func newConfig(diffID string) config {
	c := config{Architecture: "amd64", OS: "linux"}
	c.Config.Env = []string{"PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"}
	c.RootFS.Type, c.RootFS.DiffIDs = "layers", []string{diffID}
	return c
}

// writeLayout writes images of one layer each as an OCI layout in dir, an entry of its index for each name.
func writeLayout(ctx context.Context, from, dir string, images []podImage) error {
	blobs := filepath.Join(dir, "blobs", "sha256")
	if err := os.MkdirAll(blobs, 0o755); err != nil {
		return err
	}
	var entries []descriptor
	for _, image := range images {
		tar := filepath.Join(dir, image.files+".tar")
		if err := pack(ctx, filepath.Join(from, image.files), tar); err != nil {
			return err
		}
		diffID, _, err := digest(tar)
		if err != nil {
			return err
		}
		if err := command(ctx, "", nil, "zstd", "-q", "-9", "--rm", "-T0", tar); err != nil {
			return err
		}
		layer, size, err := digest(tar + ".zst")
		if err != nil {
			return err
		}
		if err := os.Rename(tar+".zst", filepath.Join(blobs, layer[len("sha256:"):])); err != nil {
			return err
		}
		c := newConfig(diffID)
		c.Config.Entrypoint, c.Config.Cmd, c.Config.User = image.entrypoint, image.command, image.user
		configured, err := writeBlob(blobs, configType, c)
		if err != nil {
			return err
		}
		manifest, err := writeBlob(blobs, manifestType, map[string]any{
			"schemaVersion": 2, "mediaType": manifestType, "config": configured,
			"layers": []descriptor{{MediaType: layerType, Digest: layer, Size: size}},
		})
		if err != nil {
			return err
		}
		for _, name := range image.names {
			// The annotation that containerd takes an image's whole name from.
			manifest.Annotations = map[string]string{"io.containerd.image.name": name}
			entries = append(entries, manifest)
		}
	}
	index, err := json.Marshal(map[string]any{"schemaVersion": 2, "mediaType": indexType, "manifests": entries})
	if err != nil {
		return err
	}
	if err := os.WriteFile(filepath.Join(dir, "index.json"), index, 0o644); err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(dir, "oci-layout"), []byte(`{"imageLayoutVersion":"1.0.0"}`), 0o644)
}

// writeBlob writes a content as JSON under its digest.
func writeBlob(blobs, mediaType string, content any) (descriptor, error) {
	data, err := json.Marshal(content)
	if err != nil {
		return descriptor{}, err
	}
	sum := fmt.Sprintf("%x", sha256.Sum256(data))
	d := descriptor{MediaType: mediaType, Digest: "sha256:" + sum, Size: int64(len(data))}
	return d, os.WriteFile(filepath.Join(blobs, sum), data, 0o644)
}

// pack writes a folder's files as a tar that is the same for the same files: root's, in order, without times.
func pack(ctx context.Context, dir, file string) error {
	return command(ctx, "", nil, "tar", "--create", "--file", file, "--directory", dir, "--format=gnu",
		"--numeric-owner", "--sort=name", "--mtime=@0", ".")
}

// digest is a file's, as OCI writes it, and its size.
func digest(file string) (string, int64, error) {
	f, err := os.Open(file)
	if err != nil {
		return "", 0, err
	}
	defer f.Close()
	sum := sha256.New()
	size, err := io.Copy(sum, f)
	return fmt.Sprintf("sha256:%x", sum.Sum(nil)), size, err
}
