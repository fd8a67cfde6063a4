// Package tutorial reads, runs and rewrites tutorials: pages of Markdown with commands that a test runs, and outputs that it
// compares.
//
//	page, err := tutorial.Load("tutorials/01-first-run/README.md")
//	if err != nil {
//		return err // with the line that is wrong
//	}
//	r := tutorial.Runner{Binary: "/src/bin/vsphere-sandbox", Root: "/src"}
//	err = r.Run(ctx, page) // errors.As a *Mismatch: file, line, what was expected, what there is
//
// # Notation
//
// A page is a title, steps (headings of the second level) and, in steps, blocks of the language console:
//
//	```console
//	$ kubectl get nodes
//	NAME   STATUS   ROLES    AGE   VERSION
//	cp-1   Ready    …        …     v1.36.4
//	…
//	```
//
// A line that begins with "$ " is a command; lines with "> " right below continue it, as in a shell. The lines up to the next
// command are its output, of both streams. In an output, … stands for any text within a line, and a line with only … for any
// number of lines. The number of spaces between words does not matter, since columns grow with their content, nor do empty
// lines at the end. A command without lines below must print nothing.
//
// A line ^C interrupts the program that runs in the terminal; the lines below are its output from then on.
//
// HTML comments right above a block, which a reader does not see, set how it is run:
//
//	<!-- wait 30s -->           run each command again and again until it prints what is expected, for at most so long
//	<!-- terminal 2 -->         in another terminal; the first is 1
//	<!-- background -->         the last command keeps running; its output must begin with what is expected
//	<!-- exit 1 -->             the last command ends with this status; all others with 0
//	<!-- not run: why not -->   a reader runs it, a test does not
//	<!-- needs: docker -->      not run, and that is said with the reason, on a machine that lacks it; see Needs
//	<!-- check: COMMAND -->     afterwards COMMAND ends with status 0, tried as long as the block's wait, or 30 s
//
// Above a heading of the second level, needs applies to the whole step. Several: "needs: docker, go".
//
// The command of a check runs in a terminal that the reader does not see: without aliases, in the clone. A guide uses it to learn
// whether a reader has typed the commands, and whether they are done already. Add one to each block that changes the world
// without printing the change; it must fail before and succeed after:
//
//	<!-- check: vsphere-sandbox wait --for=node/worker-west-1=NotReady --timeout 1s -->
//
// Anywhere in a step a page may offer to break something. Comments that follow each other are one offer. A guide asks about it; a
// reader of the page does not see it; a test takes it up. All its commands must exit with status 0:
//
//	<!-- offer: vsphere-sandbox vcenter hang us -->
//	<!-- about: The vCenter us stops answering. Does that make its nodes NotReady? -->
//	<!-- look: vsphere-sandbox kubectl get nodes -->
//	<!-- why: It does not: kubelets report to the API server, and no vCenter is asked. -->
//	<!-- undo: vsphere-sandbox vcenter up us -->
//
// A comment that begins with a word and a colon, or with a keyword from above, and is none of these is an error.
//
// # Terminals
//
// A terminal is one sh that lives as long as the run, so that cd, export and alias work as for a reader. It runs in a directory
// like a clone after "make build": bin with the program, and tutorials. HOME, TMPDIR and the state directory are separate, and
// are removed afterwards with everything in them. A page that leaves a sandbox, a process or a file in the clone behind is an
// error.
//
// It writes nothing to the terminal of its user. Of sandboxes it only knows the name of the program, and that "down --all" ends
// them.
//
// Floor 2: of this module it imports internal/nearest.
package tutorial
