// Command release makes what a release consists of beside its programs, and a snapshot of one platform.
//
//	go -C hack/release run . single -root ../..          # what .goreleaser.yaml says, for this platform alone
//	go -C hack/release run . sbom -in DIR -binary FILE …  # the bill of materials of one program, CycloneDX
//	go -C hack/release run . charts -root ../.. …         # the Helm charts, packaged
//	go -C hack/release run . formula -dist DIR …          # the Homebrew formula, of the checksums
//
// GoReleaser makes releases, of .goreleaser.yaml (docs/releasing.md). It is four hundred modules, and it cannot be asked to
// archive one platform alone; so that every change can be tried all the same, single reads the same file and does the same
// for one platform: hooks, the program, the archive, the bill of materials, checksums. It understands the keys that the file
// has today, and refuses every other by name, so that it cannot do something else than GoReleaser without saying so.
//
// It is a module of its own: what makes a release is not linked into it.
package main
