package sandbox

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/vsphere-sandbox/vsphere-sandbox/internal/instance"
	journals "github.com/vsphere-sandbox/vsphere-sandbox/pkg/vcenter/journal"
)

// Unreverted says which sandboxes below a state directory have written to real vCenters and not taken back how much. Those
// that run are among them; of others no directory need be left, and this is then all that tells of them.
func Unreverted(root string) (map[string]int, error) {
	if err := instance.Check(root); err != nil {
		return nil, err
	}
	entries, err := os.ReadDir(root)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	all := map[string]int{}
	for _, e := range entries {
		name, ok := strings.CutSuffix(e.Name(), journalFile(""))
		if !ok || name == "" {
			continue
		}
		pending, err := journals.Read(filepath.Join(root, e.Name()))
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return nil, err
		}
		w := Writes{dir: filepath.Join(root, name)}
		if len(pending) == 0 || w.read() == nil && w.Keep {
			continue
		}
		all[name] = len(pending)
	}
	return all, nil
}
