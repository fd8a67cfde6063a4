package junit

import (
	"bytes"
	"encoding/xml"
	"io"
	"testing"

	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/scenario/report/golden"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/scenario/report/sample"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/scenario/result"
)

func TestWrite(t *testing.T) {
	var b bytes.Buffer
	if err := Write(&b, sample.Suite()); err != nil {
		t.Fatal(err)
	}
	golden.Equal(t, "junit.xml", b.String())
}

// Readers refuse a document with one character in it that XML does not have.
func TestOddTexts(t *testing.T) {
	s := &result.Suite{Name: "a\x00b", Scenarios: []result.Scenario{{
		Name: "x]]>\x1b", Verdict: result.Failed, Message: "<&\">\x07", File: "f",
		Steps: []result.Step{{Verdict: result.Failed, Detail: "\xff\x01]]>\ufffe", Text: "\u202e"}, {Verdict: result.Running}},
	}, {Name: "never ended"}}}
	var b bytes.Buffer
	if err := Write(&b, s); err != nil {
		t.Fatal(err)
	}
	d := xml.NewDecoder(&b)
	for {
		if _, err := d.Token(); err == io.EOF {
			break
		} else if err != nil {
			t.Fatalf("%v\n%s", err, b.String())
		}
	}
	var back suites
	var again bytes.Buffer
	if err := Write(&again, s); err != nil {
		t.Fatal(err)
	}
	if err := xml.Unmarshal(again.Bytes(), &back); err != nil || back.Tests != 2 || back.Failures != 1 || len(back.Suites) != 1 || back.Suites[0].Errors != 1 {
		t.Errorf("%+v, %v", back, err)
	}
}
