package testgrid

import (
	"errors"
	"strings"
	"testing"
	"testing/fstest"
)

func right() map[string]string {
	return map[string]string{
		"started.json":  `{"timestamp": 1790000000, "repos": {"vsphere-sandbox": "v1"}, "metadata": {"suite": "core"}}`,
		"finished.json": `{"timestamp": 1790000060, "passed": false, "result": "FAILURE", "job-version": "v1", "metadata": {"failed": "1"}}`,
		"build-log.txt": "it ran\n",
		"artifacts/junit_smoke.xml": `<?xml version="1.0"?><testsuites><testsuite name="core" tests="3" failures="1" errors="0" skipped="1" time="2">
<testcase classname="a" name="x" time="1"/><testcase classname="a" name="y" time="1"><failure message="no">text</failure></testcase>
<testcase classname="a" name="z" time="0"><skipped message="why"></skipped></testcase></testsuite></testsuites>`,
		"report.html": "<html>",
	}
}

func TestCheck(t *testing.T) {
	for name, tc := range map[string]struct{ file, old, new, wrong string }{
		"right":            {},
		"no start":         {"started.json", "", "-", "started.json: file does not exist"},
		"no JSON":          {"started.json", "{", "[", "started.json: "},
		"milliseconds":     {"started.json", "1790000000", "1790000000000", "started.json: timestamp 1790000000000 is not in seconds"},
		"text for a time":  {"finished.json", "1790000060", `"now"`, `finished.json: "timestamp": `},
		"ends too early":   {"finished.json", "1790000060", "1700000000", "finished.json: ends before it began"},
		"number":           {"finished.json", `"1"}`, `1}`, `finished.json: metadata "failed" is float64, which is not shown: want a text`},
		"other word":       {"finished.json", "FAILURE", "failed", `finished.json: result "failed" is none of`},
		"passed anyway":    {"finished.json", `false, "result": "FAILURE"`, `true, "result": "SUCCESS"`, "finished.json: passed, but a test case failed"},
		"two opinions":     {"finished.json", "false", "true", "finished.json: passed is true, and the result FAILURE"},
		"no verdict":       {"finished.json", `"passed": false, `, "", `finished.json: has no "passed"`},
		"log":              {"build-log.txt", "ran", "\xff", "build-log.txt: is not UTF-8"},
		"no JUnit":         {"artifacts/junit_smoke.xml", "", "-", "artifacts: "},
		"broken XML":       {"artifacts/junit_smoke.xml", "</testsuite>", "", "artifacts/junit_smoke.xml: XML syntax error"},
		"wrong root":       {"artifacts/junit_smoke.xml", "testsuites", "results", "is <results>, want <testsuites>"},
		"wrong count":      {"artifacts/junit_smoke.xml", `failures="1"`, `failures="2"`, "core: has failures=2, and 1 of them"},
		"no name":          {"artifacts/junit_smoke.xml", `name="x"`, `name=""`, "core: a test case has no name"},
		"no time":          {"artifacts/junit_smoke.xml", `name="x" time="1"`, `name="x"`, "x: has no time"},
		"two outcomes":     {"artifacts/junit_smoke.xml", `<failure message="no">text</failure>`, `<failure/><error/>`, "y: has more than one outcome"},
		"control sequence": {"artifacts/junit_smoke.xml", "text", "\x1b[1m", "illegal character code"},
	} {
		t.Run(name, func(t *testing.T) {
			dir := fstest.MapFS{}
			for file, text := range right() {
				if file == tc.file {
					if !strings.Contains(text, tc.old) {
						t.Fatalf("no %s", tc.old)
					}
					if tc.old == "" {
						continue
					}
					text = strings.ReplaceAll(text, tc.old, tc.new)
				}
				dir[file] = &fstest.MapFile{Data: []byte(text)}
			}
			wrong := errors.Join(Check(dir)...)
			if tc.wrong == "" && wrong != nil || tc.wrong != "" && (wrong == nil || !strings.Contains(wrong.Error(), tc.wrong)) {
				t.Errorf("%v, want %q", wrong, tc.wrong)
			}
		})
	}
}
