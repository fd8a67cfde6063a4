package runtime

import (
	"errors"
	"fmt"
	"os/exec"
	"strings"

	"github.com/vsphere-sandbox/vsphere-sandbox/internal/coded"
	"github.com/vsphere-sandbox/vsphere-sandbox/internal/shorten"
)

// explain makes of a failed command and its words an error for people. The words are those of docker, podman and nerdctl,
// which have no other way to tell what is wrong.
func (r *Runtime) explain(args []string, err error, said string) error {
	if errors.Is(err, exec.ErrNotFound) {
		return coded.New(Missing, fmt.Sprintf("install %s, or have it on the PATH", r.name), nil, "%s is not installed", r.name)
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
	// What its daemon has to say of a registry that it cannot reach is an answer.
	answers := has("error response from daemon", "container registry")
	switch last := shorten.LastLines(said, 1); {
	case has("permission denied") && has("socket", "daemon", ".sock"):
		return coded.New(Denied, r.admission(), nil, "%s does not let this user in: %s", r.name, last)
	case !answers && has("cannot connect to the", "is the docker daemon running", "unable to connect to podman", "cannot access containerd socket", "rootless containerd not running",
		"error during connect", "connection refused", "dial unix"):
		return coded.New(Stopped, r.start(), nil, "%s is installed, but nothing answers: %s", r.name, last)
	case has("no such container", "no container with name or id", "no such object", "no container found"):
		return coded.New(ContainerMissing, "", nil, "%s %s: there is no such container: %s", r.name, verb(args), last)
	case has("no such image", "image not known"):
		return coded.New(ImageMissing, "", nil, "%s %s: the image is not on this machine: %s", r.name, verb(args), last)
	case has("is not running", "can only create exec sessions on running containers", "container state improper", "is paused"):
		return coded.New(ContainerStopped, "", nil, "%s %s: the container does not run: %s", r.name, verb(args), last)
	case said == "":
		return coded.New(Failed, "", err, "%s %s", r.name, verb(args))
	default:
		return coded.New(Failed, "", err, "%s %s: %s", r.name, verb(args), last)
	}
}

// admission is how a user comes to be let in.
func (r *Runtime) admission() string {
	if r.Kind() == "docker" {
		return "sudo usermod -aG docker \"$USER\", then log in again (members of that group are root on this host)\nor run as root"
	}
	return "run as root, or as a user for whom " + r.name + " is set up rootless"
}

func (r *Runtime) start() string {
	switch r.Kind() {
	case "docker":
		return "sudo systemctl start docker, or start Docker Desktop\nDOCKER_HOST and `docker context ls` say which daemon is asked"
	case "podman":
		return "podman machine start, where Podman runs in a VM"
	}
	return "sudo systemctl start containerd"
}

// restart is what to do about a daemon that hangs.
func (r *Runtime) restart() string {
	if r.Kind() == "docker" {
		return "sudo systemctl restart docker, or restart Docker Desktop\nDOCKER_HOST and `docker context ls` say which daemon is asked"
	}
	return "see what " + r.name + " is busy with, and try again"
}

// verb is what a call is about: its first words that are no flags.
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
