package runtime

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"strings"

	"github.com/vsphere-sandbox/vsphere-sandbox/internal/coded"
)

// Image is the runtime's description of an image.
type Image struct {
	ID     string
	Labels map[string]string
	Tags   []string
}

// Image returns a local image, or an [coded.Error] with the code [ImageMissing].
func (r *Runtime) Image(ctx context.Context, name string) (Image, error) {
	out, err := r.Output(ctx, "image", "inspect", name)
	if err != nil {
		return Image{}, err
	}
	var raw []struct {
		ID       string `json:"Id"`
		RepoTags []string
		Config   struct{ Labels map[string]string }
	}
	if err := json.Unmarshal(out, &raw); err != nil || len(raw) == 0 {
		return Image{}, fmt.Errorf("%s image inspect %s: unexpected output: %.80q", r.name, name, out)
	}
	return Image{ID: raw[0].ID, Labels: raw[0].Config.Labels, Tags: raw[0].RepoTags}, nil
}

// Pull fetches an image from its registry and copies the runtime's output to said.
func (r *Runtime) Pull(ctx context.Context, name string, said io.Writer) error {
	err := r.Do(ctx, Call{Args: []string{"pull", name}, Stdout: said})
	if coded.Is(err, Failed) {
		return coded.New(ImageMissing, "", err, "image %s is not on this host and cannot be pulled", name)
	}
	return err
}

// Script runs a shell script as root in a temporary container of an image, without a network, with a directory of this
// host mounted at the same path; args are its $1 and so on.
func (r *Runtime) Script(ctx context.Context, image, label, dir, script string, args ...string) error {
	// Privileged like nodes, or SELinux would deny access to the nodes' files.
	argv := []string{"run", "--rm", "--network", "none", "--label", label, "--privileged", "--user", "0", "--volume", dir + ":" + dir, "--entrypoint", "sh", image, "-c", script, "sh"}
	return r.run(ctx, append(argv, args...)...)
}

// Read returns a file of an image. It runs cat in a temporary container, without a network.
func (r *Runtime) Read(ctx context.Context, image, label, file string) (string, error) {
	out, err := r.Output(ctx, "run", "--rm", "--network", "none", "--label", label, "--entrypoint", "cat", image, file)
	return strings.TrimSpace(string(out)), err
}
