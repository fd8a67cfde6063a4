package kubeconfig

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"

	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"

	"github.com/vsphere-sandbox/vsphere-sandbox/internal/atomicfile"
	"github.com/vsphere-sandbox/vsphere-sandbox/internal/cli/report"
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
			Code: "kubeconfig-unusable", Message: "kubeconfig " + path, Err: err, Try: "mend it, or export KUBECONFIG=FILE   # another one, which need not be there",
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
	tick := time.NewTicker(20 * time.Millisecond) // nothing tells when a file goes away
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
				Try: "if there is none: rm " + name,
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
		Code: "kubeconfig-unwritable", Message: "kubeconfig", Err: err, Try: "export KUBECONFIG=FILE   # in a folder that you may write",
	}
}
