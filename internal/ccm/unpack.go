package ccm

import (
	"archive/tar"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path"
	"path/filepath"
	"strings"

	v1 "github.com/google/go-containerregistry/pkg/v1"

	"github.com/vsphere-sandbox/vsphere-sandbox/internal/coded"
)

// unpack returns the program of an image, from the cache when it is there and what it was.
func (o Options) unpack(ctx context.Context, v *progress, name string, img v1.Image) (Program, error) {
	id, err := img.ConfigName()
	if err != nil {
		return Program{}, err
	}
	config, err := img.ConfigFile()
	if err != nil {
		return Program{}, err
	}
	if config.OS != "" && config.Architecture != "" && (config.OS != o.OS || config.Architecture != o.Arch) {
		return Program{}, coded.New("ccm-wrong-platform", "", nil, "CCM %s: is for %s/%s; this machine is %s/%s", name, config.OS, config.Architecture, o.OS, o.Arch)
	}
	dir := filepath.Join(o.Cache, "ccm", id.Algorithm+"-"+id.Hex)
	if p, ok := fromCache(dir); ok {
		return p, nil
	}
	scratch, done, err := o.scratch()
	if err != nil {
		return Program{}, err
	}
	defer done()
	t, err := o.spool(ctx, v, img, config.RootFS.DiffIDs, scratch)
	if err != nil {
		return Program{}, named(name, err)
	}
	file, e, err := t.program(config.Config)
	if err != nil {
		return Program{}, named(name, err)
	}
	v.now("unpacking %s (%s)", "/"+file, size(e.size))
	next := filepath.Join(scratch, "next")
	program := filepath.Join(next, path.Base(file))
	if err := extract(spoolFile(scratch, e.layer), e, program); err != nil {
		return Program{}, err
	}
	script, err := o.inspect(program, name+": /"+file)
	if err != nil {
		return Program{}, err
	}
	if script {
		return Program{}, coded.New("ccm-image-unusable", "", nil, "CCM %s: /%s is a script, which needs the rest of its image", name, file)
	}
	k := kept{File: path.Base(file), Version: config.Config.Labels["org.opencontainers.image.version"]}
	if k.SHA256, err = digestOf(program); err != nil {
		return Program{}, err
	}
	note, err := json.Marshal(k)
	if err != nil {
		return Program{}, err
	}
	if err := os.WriteFile(filepath.Join(next, keptName), note, 0o600); err != nil {
		return Program{}, err
	}
	// Another process may have been faster, which is as good; what is there and damaged goes away.
	if err := os.Rename(next, dir); err != nil {
		if p, ok := fromCache(dir); ok {
			return p, nil
		}
		if err := errors.Join(os.RemoveAll(dir), os.Rename(next, dir)); err != nil {
			return Program{}, err
		}
	}
	p, ok := fromCache(dir)
	if !ok {
		return Program{}, fmt.Errorf("%s: what was written there is damaged", dir)
	}
	return p, nil
}

func named(name string, err error) error {
	if mine := (*coded.Error)(nil); errors.As(err, &mine) && !strings.HasPrefix(mine.Message, "CCM ") {
		mine.Message = "CCM " + name + ": " + mine.Message
	}
	return err
}

// scratch makes a folder beside the programs, on the same file system; done removes it.
func (o Options) scratch() (dir string, done func(), err error) {
	parent := filepath.Join(o.Cache, "ccm")
	if err := os.MkdirAll(parent, 0o755); err != nil {
		return "", nil, err
	}
	dir, err = os.MkdirTemp(parent, ".unfinished-")
	return dir, func() { _ = os.RemoveAll(dir) }, err
}

// extract writes one entry of a layer to a file that can be run.
func extract(layer string, e entry, to string) error {
	f, err := os.Open(layer)
	if err != nil {
		return err
	}
	defer f.Close()
	t := tar.NewReader(f)
	for range e.nth + 1 {
		if _, err := t.Next(); err != nil {
			return err
		}
	}
	return writeFile(to, t, 0o755)
}

// size writes a number of bytes for people.
func size(n int64) string {
	switch {
	case n >= 1<<30:
		return fmt.Sprintf("%.1f GiB", float64(n)/(1<<30))
	case n >= 1<<20:
		return fmt.Sprintf("%.0f MiB", float64(n)/(1<<20))
	}
	return fmt.Sprintf("%d B", n)
}

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
