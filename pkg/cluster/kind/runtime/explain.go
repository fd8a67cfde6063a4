package runtime

import (
	"errors"
	"fmt"
	"os/exec"
	"strings"

	"github.com/vsphere-sandbox/vsphere-sandbox/internal/coded"
	"github.com/vsphere-sandbox/vsphere-sandbox/internal/shorten"
)

// explain classifies a failed command by its output: docker, podman and nerdctl have no exit statuses or codes for that.
func (r *Runtime) explain(args []string, err error, said string) error {
	if errors.Is(err, exec.ErrNotFound) {
		return coded.New(Missing, fmt.Sprintf("install %s, or add it to the PATH", r.name), nil, "%s is not installed", r.name)
	}
	words := strings.ToLower(said)
	has := func(any ...string) bool {
		for _, s := range any {
			if strings.Contains(words, s) {
				return true
			}
		}
		return false
	}
	// The daemon's report of an unreachable registry shows that the daemon responds.
	answers := has("error response from daemon", "container registry")
	switch last := shorten.LastLines(said, 1); {
	case has("permission denied") && has("socket", "daemon", ".sock"):
		return coded.New(Denied, r.admission(), nil, "%s denies access to this user: %s", r.name, last)
	case !answers && has("cannot connect to the", "is the docker daemon running", "unable to connect to podman", "cannot access containerd socket", "rootless containerd not running",
		"error during connect", "connection refused", "dial unix"):
		return coded.New(Stopped, r.start(), nil, "%s is installed, but its daemon does not respond: %s", r.name, last)
	case has("no such container", "no container with name or id", "no such object", "no container found"):
		return coded.New(ContainerMissing, "", nil, "%s %s: the container does not exist: %s", r.name, verb(args), last)
	case has("no such image", "image not known"):
		return coded.New(ImageMissing, "", nil, "%s %s: the image is not on this host: %s", r.name, verb(args), last)
	case has("is not running", "can only create exec sessions on running containers", "container state improper", "is paused"):
		return coded.New(ContainerStopped, "", nil, "%s %s: the container does not run: %s", r.name, verb(args), last)
	case said == "":
		return coded.New(Failed, "", err, "%s %s", r.name, verb(args))
	default:
		return coded.New(Failed, "", err, "%s %s: %s", r.name, verb(args), last)
	}
}

// admission returns how a user gets access.
func (r *Runtime) admission() string {
	if r.Kind() == "docker" {
		return "sudo usermod -aG docker \"$USER\", then log in again (members of that group are root on this host)\nor run as root"
	}
	return "run as root, or as a user for whom " + r.name + " is set up rootless"
}

func (r *Runtime) start() string {
	switch r.Kind() {
	case "docker":
		return "sudo systemctl start docker, or start Docker Desktop\nDOCKER_HOST and `docker context ls` show which daemon is used"
	case "podman":
		return "podman machine start, where Podman runs in a VM"
	}
	return "sudo systemctl start containerd"
}

// restart returns what to do about a daemon that hangs.
func (r *Runtime) restart() string {
	if r.Kind() == "docker" {
		return "sudo systemctl restart docker, or restart Docker Desktop\nDOCKER_HOST and `docker context ls` show which daemon is used"
	}
	return "see what " + r.name + " is busy with, and try again"
}

// verb returns the subcommand of a call: its first words that are no flags.
func verb(args []string) string {
	var words []string
	for _, a := range args {
		if strings.HasPrefix(a, "-") || len(words) == 2 {
			break
		}
		words = append(words, a)
	}
	return strings.Join(words, " ")
}
