// Package card draws the pictures of matches and seasons that other sites show
// beside a link to them: who plays and how it stands, and in games the position as
// spectators see it, but no answers.
//
// It owns the layout, the fonts and the agents' marks, which look as they do
// on the pages. It leaves to others when a card is drawn and who may see it.
//
// It imports arena alone and is the only package that imports golang.org/x/image;
// server hands its Painter to the API.
package card
