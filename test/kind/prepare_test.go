package kind

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
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
	c := exec.Command(filepath.Join("..", "..", "hack", "kind-node", "build"), "-load")
	c.Env, c.Stderr = append(os.Environ(), "DOCKER_HOST="+engine.host()), os.Stderr
	out, err := c.Output()
	if err != nil {
		return "", fmt.Errorf("hack/kind-node/build: %w", err)
	}
	name, _, _ := strings.Cut(string(out), "\n")
	if name == "" {
		return "", errors.New("hack/kind-node/build says no name")
	}
	return name, nil
}
