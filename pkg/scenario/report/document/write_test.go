package document

import (
	"bytes"
	"encoding/json"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/scenario/report/golden"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/scenario/report/sample"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/scenario/result"
)

func TestWrite(t *testing.T) {
	var b bytes.Buffer
	if err := Write(&b, sample.Suite()); err != nil {
		t.Fatal(err)
	}
	golden.Equal(t, "suite.json", b.String())
	var back Suite
	if err := json.Unmarshal(b.Bytes(), &back); err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff(Of(sample.Suite()), back); d != "" {
		t.Error(d)
	}
}

func TestNothingRan(t *testing.T) {
	var b bytes.Buffer
	if err := Write(&b, &result.Suite{Name: "none"}); err != nil {
		t.Fatal(err)
	}
	golden.Equal(t, "empty.json", b.String())
}
