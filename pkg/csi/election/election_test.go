package election

import (
	"flag"
	"strings"
	"testing"
)

// A process that is started again is another candidate with the same name.
func TestIdentity(t *testing.T) {
	var o Options
	fs := flag.NewFlagSet("", flag.ContinueOnError)
	o.Flags(fs)
	if err := fs.Parse([]string{"--leader-election", "--leader-election-identity=csi-attacher-2"}); err != nil {
		t.Fatal(err)
	}
	first, err := o.identity()
	if err != nil {
		t.Fatal(err)
	}
	second, err := o.identity()
	if err != nil || first == second || Name(first) != "csi-attacher-2" || Name(second) != "csi-attacher-2" {
		t.Errorf("%q, %q, %v", first, second, err)
	}
	host, err := (&Options{}).identity()
	if err != nil || host == "" || strings.Contains(host, separator) || Name(host) != host {
		t.Errorf("%q, %v", host, err)
	}
}
