package junit

import (
	"bytes"
	"testing"

	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/scenario/report/golden"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/scenario/report/sample"
)

// Programs that read the file count regressions as failures, known and same ones as skipped, and find the words of the table.
func TestJudged(t *testing.T) {
	var b bytes.Buffer
	if err := Write(&b, sample.Judged()); err != nil {
		t.Fatal(err)
	}
	golden.Equal(t, "judged.xml", b.String())
}
