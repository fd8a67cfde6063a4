package artifacts

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"strconv"

	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/event"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sandbox/api"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/scenario/report/document"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/scenario/report/junit"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/scenario/report/page"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/scenario/result"
)

// started and finished are the files of TestGrid.
type (
	started struct {
		Timestamp int64             `json:"timestamp"` // seconds
		Repos     map[string]string `json:"repos,omitempty"`
		Metadata  map[string]string `json:"metadata,omitempty"`
	}
	finished struct {
		Timestamp int64             `json:"timestamp"`
		Passed    bool              `json:"passed"`
		Result    string            `json:"result"`
		Version   string            `json:"job-version,omitempty"`
		Metadata  map[string]string `json:"metadata"`
	}
)

// Event appends an event of the nth sandbox to events.jsonl.
func (d *Dir) Event(n int, line api.EventLine) error {
	b, err := json.Marshal(struct {
		Sandbox int `json:"sandbox"`
		event.Event
		Lost uint64 `json:"lost,omitempty"`
	}{n, line.Event, line.Lost})
	if err != nil {
		return err
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.events == nil {
		return fs.ErrClosed
	}
	_, err = d.events.Write(d.mask.Bytes(append(b, '\n')))
	return err
}

// Finish writes the results and closes the directory. aborted means that the run was interrupted.
func (d *Dir) Finish(s *result.Suite, aborted bool) error {
	errs := []error{
		d.made("artifacts/result.json", s, document.Write),
		d.made("artifacts/junit_"+FileName(s.Name)+".xml", s, junit.Write),
		d.made("report.html", s, page.Write),
		d.JSON("artifacts/calls.json", calls(s)),
		d.finished(s, aborted),
	}
	return errors.Join(append(errs, d.Close())...)
}

func (d *Dir) finished(s *result.Suite, aborted bool) error {
	f := finished{
		Timestamp: s.Began.Add(s.Took).Unix(), Passed: s.Verdict() == result.Passed && !aborted, Result: "FAILURE", Version: s.Version,
		Metadata: map[string]string{
			"suite": s.Name, "seed": strconv.FormatUint(s.Seed, 10), "speed": strconv.FormatFloat(s.Speed, 'f', -1, 64),
			"ccm": s.CCM, "ccm-version": s.CCMVersion, "kubernetes-version": s.KubernetesVersion, "version": s.Version,
			"scenarios": strconv.Itoa(len(s.Scenarios)),
		},
	}
	switch {
	case aborted:
		f.Result = "ABORTED"
	case f.Passed:
		f.Result = "SUCCESS"
	}
	for _, v := range []result.Verdict{result.Passed, result.Failed, result.Errored, result.Skipped} {
		f.Metadata[string(v)] = strconv.Itoa(s.Count(v))
	}
	return d.JSON("finished.json", f)
}

func (d *Dir) made(name string, s *result.Suite, write func(io.Writer, *result.Suite) error) error {
	var b bytes.Buffer
	if err := write(&b, s); err != nil {
		return fmt.Errorf("%s: %w", name, err)
	}
	return d.Write(name, b.Bytes())
}

// calls returns the calls of each scenario, by its name.
func calls(s *result.Suite) map[string][]api.Calls {
	all := map[string][]api.Calls{}
	for i := range s.Scenarios {
		sc := &s.Scenarios[i]
		if len(sc.Calls) > 0 {
			all[sc.Name] = sc.Calls
		}
	}
	return all
}
