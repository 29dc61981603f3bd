// Package card draws the picture of a match that other sites show beside a
// link to it: who plays, how it stands, nothing of what anyone answered.
//
// It owns the layout, the fonts and the agents' marks, which look as they do
// on the pages. It leaves to others when a card is drawn and who may see it.
//
// It imports arena alone and is the only package that imports golang.org/x/image;
// arena/server hands its Painter to the API.
package card
