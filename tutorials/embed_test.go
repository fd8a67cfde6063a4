package tutorials

import (
	"io/fs"
	"os"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// What a clone has, a reader with only the program has, too.
func TestComplete(t *testing.T) {
	list := func(from fs.FS) (found []string) {
		err := fs.WalkDir(from, ".", func(path string, d fs.DirEntry, err error) error {
			if err == nil && !d.IsDir() && !strings.HasSuffix(path, ".go") {
				found = append(found, path)
			}
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
		return found
	}
	want := list(os.DirFS("."))
	if diff := cmp.Diff(want, list(FS())); diff != "" || len(want) < 3 {
		t.Errorf("in the folder, and in the program:\n%s", diff)
	}
}
