package ccm

import (
	"errors"
	"path"
	"strings"

	v1 "github.com/google/go-containerregistry/pkg/v1"

	"github.com/vsphere-sandbox/vsphere-sandbox/internal/coded"
)

// program finds the program of an image: that of upstream's images, else what the image runs.
func (t *tree) program(c v1.Config) (string, entry, error) {
	looked := []string{"/bin/" + programName}
	for _, words := range [][]string{c.Entrypoint, c.Cmd} {
		if len(words) == 0 || words[0] == "" {
			continue
		}
		if strings.Contains(words[0], "/") {
			looked = append(looked, path.Join("/", c.WorkingDir, words[0]))
			if path.IsAbs(words[0]) {
				looked[len(looked)-1] = words[0]
			}
		} else {
			for _, dir := range searchPath(c.Env) {
				looked = append(looked, path.Join(dir, words[0]))
			}
		}
		break // a command is an argument of the entry point
	}
	for _, name := range looked {
		found, e, err := t.find(name)
		if err == nil {
			return found, e, nil
		}
		if !errors.Is(err, errNoFile) {
			return "", entry{}, coded.New("ccm-image-unusable", "", err, "%s", name)
		}
	}
	return "", entry{}, coded.New("ccm-image-unusable", "", nil, "has no cloud controller manager: there is no %s", strings.Join(looked, ", no "))
}

func searchPath(env []string) []string {
	for _, v := range env {
		if dirs, ok := strings.CutPrefix(v, "PATH="); ok {
			return strings.Split(dirs, ":")
		}
	}
	return []string{"/usr/local/sbin", "/usr/local/bin", "/usr/sbin", "/usr/bin", "/sbin", "/bin"}
}
