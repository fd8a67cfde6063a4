package output_test

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/spf13/cobra"

	_ "github.com/vsphere-sandbox/vsphere-sandbox/internal/cli/clitest" // -update
	"github.com/vsphere-sandbox/vsphere-sandbox/internal/cli/output"
	"github.com/vsphere-sandbox/vsphere-sandbox/internal/cli/report"
)

type thing struct {
	Name string `json:"name"`
	Size string `json:"size,omitempty"`
}

func kind() output.Kind[thing] {
	return output.Kind[thing]{
		Name: "Thing",
		Ref:  func(t thing) string { return "thing/" + t.Name },
		Columns: []output.Column[thing]{
			{Header: "NAME", Value: func(t thing) string { return t.Name }},
			{Header: "SIZE", Value: func(t thing) string { return t.Size }},
			{Header: "TWICE", Wide: true, Value: func(t thing) string { return t.Name + t.Name }},
		},
	}
}

func TestList(t *testing.T) {
	things := []thing{{"é", "<1>"}, {"long one", ""}, {"a\tb\x1b[31m", "2\n3"}}
	for _, tc := range []struct {
		flags output.Flags
		items []thing
		want  string
	}{
		{output.Flags{Format: "table"}, things, "NAME          SIZE\né             <1>\nlong one      <none>\na b\\x1b[31m   2 3\n"},
		{output.Flags{}, things[:1], "NAME   SIZE\né      <1>\n"},
		{output.Flags{Format: "wide"}, things[:1], "NAME   SIZE   TWICE\né      <1>    éé\n"},
		{output.Flags{Format: "table", NoHeaders: true}, things[:1], "é   <1>\n"},
		{output.Flags{Format: "table"}, nil, ""},
		{output.Flags{Format: "name"}, things[:2], "thing/é\nthing/long one\n"},
		{output.Flags{Format: "yaml"}, things[:1], "apiVersion: sandbox.vsphere/v1alpha1\nitems:\n- name: é\n  size: <1>\nkind: ThingList\n"},
		{output.Flags{Format: "yaml"}, nil, "apiVersion: sandbox.vsphere/v1alpha1\nitems: []\nkind: ThingList\n"},
	} {
		var b strings.Builder
		if err := output.List(&b, tc.flags, kind(), tc.items); err != nil {
			t.Fatal(err)
		}
		if d := cmp.Diff(tc.want, b.String()); d != "" {
			t.Errorf("%+v: %s", tc.flags, d)
		}
	}
}

func TestObject(t *testing.T) {
	for _, tc := range []struct {
		v    any
		want string
	}{
		{thing{"<a>", ""}, "{\n  \"apiVersion\": \"sandbox.vsphere/v1alpha1\",\n  \"kind\": \"Thing\",\n  \"name\": \"<a>\"\n}\n"},
		{struct{}{}, "{\n  \"apiVersion\": \"sandbox.vsphere/v1alpha1\",\n  \"kind\": \"Thing\"\n}\n"},
	} {
		var b strings.Builder
		if err := output.Object(&b, output.JSON, "Thing", tc.v); err != nil {
			t.Fatal(err)
		}
		if d := cmp.Diff(tc.want, b.String()); d != "" {
			t.Error(d)
		}
	}
}

func TestWatch(t *testing.T) {
	var b strings.Builder
	w := output.NewWatch(&b, output.Flags{Format: output.Plain}, kind())
	for _, step := range []struct {
		items []thing
		want  string
	}{
		{nil, ""},
		{[]thing{{"a", "1"}, {"b", "1"}}, "NAME   SIZE\na      1\nb      1\n"},
		{[]thing{{"a", "1"}, {"b", "1"}}, ""},
		{[]thing{{"a", "1"}, {"b", "2"}}, "b      2\n"},
		{[]thing{{"a long name", "1"}, {"b", "2"}}, "a long name   1\nthing/a is gone\n"},
		{[]thing{{"b", "3"}}, "b             3\nthing/a long name is gone\n"},
	} {
		b.Reset()
		if err := w.Show(step.items); err != nil {
			t.Fatal(err)
		}
		if d := cmp.Diff(step.want, b.String()); d != "" {
			t.Error(d)
		}
	}
}

func TestFlags(t *testing.T) {
	for _, tc := range []struct {
		args []string
		want output.Flags
		try  string
	}{
		{nil, output.Flags{Format: "table"}, ""},
		{[]string{"-o", "json", "--no-headers"}, output.Flags{Format: "json", NoHeaders: true}, ""},
		{[]string{"-o", "jsom"}, output.Flags{Format: "table"}, "-o json"},
		{[]string{"-o", "csv"}, output.Flags{Format: "table"}, "-o table|wide|json|yaml|name"},
	} {
		var f output.Flags
		cmd := &cobra.Command{RunE: func(*cobra.Command, []string) error { return nil }, SilenceErrors: true, SilenceUsage: true}
		f.Bind(cmd)
		cmd.SetArgs(append([]string{}, tc.args...))
		if r := report.Of(cmd.Execute()); r.Try != tc.try || f != tc.want {
			t.Errorf("%v: %+v, %+v", tc.args, f, r)
		}
	}
}

func TestText(t *testing.T) {
	now := time.Date(2026, 9, 1, 12, 0, 0, 0, time.UTC)
	for got, want := range map[string]string{
		output.Age(now, now.Add(-90*time.Second)): "90s",
		output.Age(now, now.Add(time.Hour)):       "0s",
		"none" + output.Age(now, time.Time{}):     "none",
		output.Bytes(512):                         "512",
		output.Bytes(4 << 30):                     "4Gi",
		output.Bytes(3 << 29):                     "1.5Gi",
		output.Bytes(1 << 40):                     "1Ti",
		output.YesNo(true) + output.YesNo(false):  "truefalse",
		output.Join([]string{"a", "b"}):           "a,b",
	} {
		if got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	}
}
