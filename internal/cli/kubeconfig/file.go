package kubeconfig

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"strings"
	"time"

	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"

	"github.com/vsphere-sandbox/vsphere-sandbox/internal/atomicfile"
	"github.com/vsphere-sandbox/vsphere-sandbox/internal/cli/command"
	"github.com/vsphere-sandbox/vsphere-sandbox/internal/cli/report"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sandbox/api"
)

// lockPatience is how long another program may hold the lock. They hold it for milliseconds.
const lockPatience = 3 * time.Second

// Path returns the file that kubectl would write to: the first of $KUBECONFIG, else ~/.kube/config.
func Path(getenv func(string) string) (string, error) {
	for path := range strings.SplitSeq(getenv(clientcmd.RecommendedConfigPathEnvVar), string(filepath.ListSeparator)) {
		if path != "" {
			return path, nil
		}
	}
	home := getenv("HOME")
	if home == "" {
		return "", &report.Error{
			Code: "no-home", Message: "there is no home directory for a kubeconfig", Try: "export KUBECONFIG=FILE",
		}
	}
	return filepath.Join(home, clientcmd.RecommendedHomeDir, clientcmd.RecommendedFileName), nil
}

// edit has change work on the configuration in the file at path, which need not exist, and writes it back if change
// says that there is something new.
func edit(ctx context.Context, path string, change func(*clientcmdapi.Config) (bool, error)) error {
	if target, err := filepath.EvalSymlinks(path); err == nil {
		path = target // replace the file, not the link to it
	}
	if err := os.MkdirAll(filepath.Dir(path), 0o750); err != nil {
		return unwritable(err)
	}
	unlock, err := lock(ctx, path)
	if err != nil {
		return err
	}
	defer unlock()
	config, err := clientcmd.LoadFromFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		config, err = clientcmdapi.NewConfig(), nil
	}
	if err != nil {
		return &report.Error{
			Code: "kubeconfig-unusable", Message: "kubeconfig " + path, Err: err, Try: "fix it, or export KUBECONFIG=FILE   # another file; it need not exist",
		}
	}
	if changed, err := change(config); err != nil || !changed {
		return err
	}
	text, err := clientcmd.Write(*config)
	if err != nil {
		return fmt.Errorf("kubeconfig %s: %w", path, err)
	}
	return replace(path, text)
}

// lock takes the lock that kubectl takes: a file beside the file.
func lock(ctx context.Context, path string) (unlock func(), err error) {
	name := path + ".lock"
	tick := time.NewTicker(20 * time.Millisecond) // the removal of a file must be polled
	defer tick.Stop()
	for begin := time.Now(); ; {
		f, err := os.OpenFile(name, os.O_CREATE|os.O_EXCL, 0)
		if err == nil {
			_ = f.Close()
			return func() { _ = os.Remove(name) }, nil
		}
		if !errors.Is(err, fs.ErrExist) {
			return nil, unwritable(err)
		}
		if time.Since(begin) > lockPatience {
			return nil, &report.Error{
				Code: "kubeconfig-locked", Message: fmt.Sprintf("kubeconfig %s is locked by another program", path),
				Try: "if no program uses it: rm " + name,
			}
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
}

// replace writes path in one step, with the mode it had, or for the owner only when it is new.
func replace(path string, text []byte) error {
	mode := fs.FileMode(0o600)
	if info, err := os.Stat(path); err == nil {
		mode = info.Mode().Perm()
	}
	f, err := atomicfile.Create(path, 0o600)
	if err != nil {
		return unwritable(err)
	}
	defer f.Discard()
	_, err = f.Write(text)
	if err = errors.Join(err, f.Chmod(mode)); err == nil {
		err = f.Commit()
	}
	if err != nil {
		return unwritable(err)
	}
	return nil
}

// unwritable is the error for a file that cannot be written, or not beside its lock.
func unwritable(err error) error {
	return &report.Error{
		Code: "kubeconfig-unwritable", Message: "kubeconfig", Err: err, Try: "export KUBECONFIG=FILE   # in a folder that you can write to",
	}
}

// Context is the name of the context, cluster and user of the sandbox of that name.
func Context(sandbox string) string { return "vsphere-sandbox-" + sandbox }

// Merge puts what admin, a kubeconfig with one current context, has into the file at path, and makes its context the
// current one. Entries of the same names are replaced.
func Merge(ctx context.Context, path string, admin []byte) error {
	from, err := clientcmd.Load(admin)
	if err != nil {
		return fmt.Errorf("the sandbox's kubeconfig: %w", err)
	}
	if from.Contexts[from.CurrentContext] == nil {
		return fmt.Errorf("the sandbox's kubeconfig: there is no context %q", from.CurrentContext)
	}
	return edit(ctx, path, func(c *clientcmdapi.Config) (bool, error) {
		maps.Copy(c.Clusters, from.Clusters)
		maps.Copy(c.AuthInfos, from.AuthInfos)
		maps.Copy(c.Contexts, from.Contexts)
		c.CurrentContext = from.CurrentContext
		return true, nil
	})
}

// Unmerge takes the context of that name out of the file at path, and the cluster and user that no other context uses.
// It reports whether there was one. No context is current then, if that one was.
func Unmerge(ctx context.Context, path, name string) (found bool, err error) {
	if _, err := os.Stat(path); errors.Is(err, fs.ErrNotExist) {
		return false, nil
	}
	err = edit(ctx, path, func(c *clientcmdapi.Config) (bool, error) {
		gone := c.Contexts[name]
		if gone == nil {
			return false, nil
		}
		found = true
		delete(c.Contexts, name)
		clusterUsed, userUsed := false, false
		for _, other := range c.Contexts {
			clusterUsed = clusterUsed || other.Cluster == gone.Cluster
			userUsed = userUsed || other.AuthInfo == gone.AuthInfo
		}
		if !clusterUsed {
			delete(c.Clusters, gone.Cluster)
		}
		if !userUsed {
			delete(c.AuthInfos, gone.AuthInfo)
		}
		if c.CurrentContext == name {
			c.CurrentContext = ""
		}
		return true, nil
	})
	return found, err
}

// Check returns an error of code unavailable while a sandbox has no kubeconfig: until its API server is up.
func Check(s api.Status) error {
	if s.Kubeconfig != "" {
		if _, err := os.Stat(s.Kubeconfig); err == nil || !os.IsNotExist(err) {
			return err
		}
	}
	if s.Phase == api.Ready && s.Server == "" {
		return &report.Error{
			Code: "unavailable", Message: fmt.Sprintf("sandbox %q has vCenters only, no cluster", s.Name), Try: command.Program + " up",
		}
	}
	return &report.Error{
		Code: "unavailable", Message: fmt.Sprintf("sandbox %q has no kubeconfig yet", s.Name), Try: command.Program + " wait --for=ready",
	}
}
