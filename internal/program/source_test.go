package program

import (
	"testing"

	"github.com/vsphere-sandbox/vsphere-sandbox/internal/upstream/upstreamtest"
)

func TestParse(t *testing.T) {
	for text, want := range map[string]Source{
		"":                                 {},
		"builtin":                          {},
		"bin/ccm":                          {CCM, File, "bin/ccm"},
		"/opt/ccm:v1":                      {CCM, File, "/opt/ccm:v1"},
		"file:ccm":                         {CCM, File, "ccm"},
		"ccm":                              {CCM, File, "ccm"},
		"image:localhost:5000/ccm:v1":      {CCM, Image, "localhost:5000/ccm:v1"},
		"image://registry.k8s.io/a/b:v1.2": {CCM, Image, "registry.k8s.io/a/b:v1.2"},
		"archive:a b.tar":                  {CCM, Archive, "a b.tar"},
		"module:v1.36.0":                   {CCM, Module, "v1.36.0"},
		"module:v1.36.0-beta.0":            {CCM, Module, "v1.36.0-beta.0"},
	} {
		got, err := Parse(text)
		if err != nil || got != want {
			t.Errorf("%q: %+v, %v, want %+v", text, got, err, want)
			continue
		}
		if again, err := Parse(got.String()); err != nil || again != got {
			t.Errorf("%q: printed as %q, which is %+v, %v", text, got, again, err)
		}
	}
	for text, words := range map[string]string{
		"images:x":                 `there is no source "images:"`,
		"image:":                   "nothing stands after the colon",
		"image:UPPER/Case":         "is no name of an image",
		"module:1.36":              "is no version",
		"module:v1.36.0/../../etc": "is no version",
	} {
		_, err := Parse(text)
		_ = upstreamtest.WantError(t, err, "usage", words)
	}
}

func TestBuiltin(t *testing.T) {
	if p, err := resolve(t, options(t), "builtin"); err != nil || p != (Program{Source: "builtin", Own: true}) {
		t.Errorf("%+v, %v", p, err)
	}
}
