package kind

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"

	"github.com/vsphere-sandbox/vsphere-sandbox/internal/kubernetes/release"
)

// needed are the programs that the tests take, and Debian's packages that have them.
func needed() map[string]string {
	if *dockerFlag != "" {
		return map[string]string{"docker": "docker.io", "losetup": "mount"}
	}
	return map[string]string{
		"docker": "docker.io", "dockerd": "docker.io", "runc": "runc", "containerd": "containerd", "jq": "jq", "iptables": "iptables",
		"debootstrap": "debootstrap", "zstd": "zstd", "losetup": "mount",
	}
}

// prepare returns why no test can run on this host, or ""; it first installs what is missing, if that was requested.
func prepare() (why string, err error) {
	if runtime.GOOS != "linux" {
		return "containers that are nodes need linux", nil
	}
	if os.Geteuid() != 0 && *dockerFlag == "" {
		return "a Docker daemon of one's own takes root: sudo, or -docker ADDRESS of one that runs", nil
	}
	var programs, packages []string
	for program, pkg := range needed() {
		if _, err := exec.LookPath(program); err != nil {
			programs, packages = append(programs, program), append(packages, pkg)
		}
	}
	if len(programs) == 0 {
		return "", nil
	}
	if !*installFlag {
		return fmt.Sprintf("%s is not installed: CI=true or -install has it fetched (apt-get install %s)", strings.Join(programs, ", "), strings.Join(packages, " ")), nil
	}
	for _, args := range [][]string{{"update"}, append([]string{"install", "-y", "--no-install-recommends"}, packages...)} {
		c := exec.Command("apt-get", args...)
		// Debian's scripts start a daemon where they can; ours is another one.
		c.Env = append(os.Environ(), "DEBIAN_FRONTEND=noninteractive", "RUNLEVEL=1")
		c.Stdout, c.Stderr = os.Stderr, os.Stderr
		if err := c.Run(); err != nil {
			return "", fmt.Errorf("apt-get %s: %w", strings.Join(args, " "), err)
		}
	}
	return "", nil
}

// nodeImage returns the name of the node image, which the daemon has then.
func nodeImage() (string, error) {
	if *imageFlag != "" {
		_, err := docker("image", "inspect", *imageFlag)
		return *imageFlag, err
	}
	name, _, err := builtImage(release.Kind(), "-load")
	return name, err
}

// fetchEnv makes the tests build the images of other releases than the default one where they do not exist.
const fetchEnv = "VSPHERE_SANDBOX_FETCH"

// imageOf returns the image of a Kubernetes release, which the daemon has then; or why it is not there.
func imageOf(version string) (name, why string, err error) {
	_, archive, err := builtImage(version, "-name")
	if err != nil {
		return "", "", err
	}
	if _, err := os.Stat(archive); err != nil && os.Getenv(fetchEnv) == "" {
		return "", fmt.Sprintf("there is no node image of %s: hack/kind-node/build -kubernetes %s builds it, or %s=1 here", version, version, fetchEnv), nil
	}
	name, _, err = builtImage(version, "-load")
	return name, "", err
}

// builtImage runs hack/kind-node/build, and returns the image's name and its archive.
func builtImage(version, flag string) (name, archive string, err error) {
	c := exec.Command(filepath.Join("..", "..", "hack", "kind-node", "build"), "-kubernetes", version, flag)
	c.Env, c.Stderr = append(os.Environ(), "DOCKER_HOST="+engine.host()), os.Stderr
	out, err := c.Output()
	if err != nil {
		return "", "", fmt.Errorf("hack/kind-node/build: %w", err)
	}
	lines := strings.Fields(string(out))
	if len(lines) != 2 {
		return "", "", fmt.Errorf("hack/kind-node/build says %q, want a name and a path", out)
	}
	return lines[0], lines[1], nil
}
